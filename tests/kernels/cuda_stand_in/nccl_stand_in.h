// A libnccl.so.2 for tests without a GPU, above libcuda.so.1's stand-in, which must be loaded
// before: ranks are processes or threads of one host, and exchange data by files in shared memory,
// in a folder that the group's identity names.
//
// Groups are joined without waiting only, and calls reach the stream when the group's state has
// been asked for twice: what is recorded before that comes too early. A call runs when its stream
// comes to it, and ends when all members' have run that it needs. It is refused, with a line on
// stderr, where members disagree on kind, type, operation, count or root, and where the device may
// not touch its memory.
//
// Environment:
//   REPRISE_STAND_IN_NCCL_FOLDER=FOLDER          where the groups' folders are; /dev/shm
//   REPRISE_STAND_IN_NCCL_VERSION=N              ncclGetVersion's; 22803
//   REPRISE_STAND_IN_NCCL_FAULT=init[:RANK]      joining fails, on all members or that one
//   REPRISE_STAND_IN_NCCL_FAULT=async:N[:RANK]   the N-th operation of a group never ends, and its
//                                                state is then an error
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace nccl_stand_in {

// ncclResult_t.
enum Result : int {
  kSuccess = 0,
  kUnhandledCudaError = 1,
  kSystemError = 2,
  kInternalError = 3,
  kInvalidArgument = 4,
  kInvalidUsage = 5,
  kRemoteError = 6,
  kInProgress = 7,
};

enum class Kind : std::uint8_t {
  kAllReduce,
  kReduce,
  kBroadcast,
  kAllGather,
  kReduceScatter,
  kSend,
  kRecv,
};
const char* NameOf(Kind kind);

// Bytes of an element of an ncclDataType_t; 0: there is no such type.
std::size_t SizeOf(int type);
// `into[i] = into[i] OP with[i]`; false where there is no such operation. Averages are sums here.
bool Reduce(std::byte* into, const std::byte* with, std::size_t count, int type, int op);
// What an average of `members` makes of their sum.
void DivideAverage(std::byte* sums, std::size_t count, int type, int op, int members);

struct Call {
  Kind kind = Kind::kAllReduce;
  const std::byte* in = nullptr;
  std::byte* out = nullptr;
  std::uint64_t count = 0;
  int type = 0;
  int op = 0;
  int peer = 0;  // or the root
};

// Files that a group's members exchange. Not thread-safe.
class Folder {
 public:
  void Use(std::string path, int rank, int size);
  // The others see it whole, or not.
  void Post(const std::string& name, const std::string& bytes) const;
  [[nodiscard]] bool Has(const std::string& name) const;
  [[nodiscard]] std::string Read(const std::string& name) const;
  void Remove(const std::string& name) const;
  // Whether every member has posted `PREFIX.RANK`.
  [[nodiscard]] bool HasAll(const std::string& prefix) const;
  // This member posts nothing more; the last one deletes the folder.
  void Leave() const;

 private:
  std::string path_;
  int rank_ = 0;
  int size_ = 0;
};

// Changed by the thread that calls; the atomic ones also by whoever runs operations.
struct Group {
  std::atomic<int> state = kInProgress;
  std::atomic<bool> is_aborted = false;
  std::atomic<long> under_way = 0;
  int rank = 0;
  int size = 0;
  Folder folder;
  bool has_joined = false;
  long operations = 0;
  long collectives = 0;
  std::map<int, long> sends, receives;  // by peer
};

// The calls between ncclGroupStart and ncclGroupEnd, on a stream.
class Operation {
 public:
  Operation(std::shared_ptr<Group> group, std::vector<Call> calls);
  ~Operation();
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  // For reprise_stand_in_enqueue.
  int Advance();
  [[nodiscard]] std::string Text() const;
  [[nodiscard]] const std::vector<Call>& calls() const { return calls_; }
  // Of a call's sides; 0: it has not that one.
  [[nodiscard]] std::size_t InBytes(const Call& call) const;
  [[nodiscard]] std::size_t OutBytes(const Call& call) const;

 private:
  struct Part {
    std::string name;  // of its file, without the rank
    bool is_done = false;
  };
  void Post();
  bool Finish(const Call& call, Part& part);
  bool FinishCollective(const Call& call, const std::string& name);
  bool FinishReceive(const Call& call, const std::string& name);
  bool Disagrees(const Call& mine, const Call& theirs);

  const std::shared_ptr<Group> group_;
  const std::vector<Call> calls_;
  std::vector<Part> parts_;
  long first_collective_ = 0;
  bool never_ends_ = false;
  bool has_begun_ = false;
  bool is_wrong_ = false;
};

int Refuse(int code, const std::string& why);
// Whether REPRISE_STAND_IN_NCCL_FAULT asks for it.
bool JoinFails(int rank);
bool OperationFails(long number, int rank);

}  // namespace nccl_stand_in

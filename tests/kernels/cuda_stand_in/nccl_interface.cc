// NCCL's functions.
#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <bit>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "tests/kernels/cuda_stand_in/cuda_stand_in.h"
#include "tests/kernels/cuda_stand_in/nccl_stand_in.h"

using namespace nccl_stand_in;  // NOLINT(google-build-using-namespace)

namespace {

constexpr int kVersion = 22803;
// How often a group's state is asked for until a call is on its stream.
constexpr int kPollsOfCall = 2;

struct Identity {
  char bytes[128];
};
struct Config {
  std::size_t size;
  unsigned int magic;
  unsigned int version;
  int blocking;
};

// ncclComm: what the handle points to.
struct Member {
  std::shared_ptr<Group> group = std::make_shared<Group>();
  // Called, and not yet on the stream.
  std::unique_ptr<Operation> pending;
  void* pending_stream = nullptr;
  int polls = 0;
};

struct PendingCall {
  Member* member;
  void* stream;
  Call call;
};

// The calling thread's calls since ncclGroupStart.
struct OpenGroup {
  int depth = 0;
  std::vector<PendingCall> calls;
};
OpenGroup& TheOpenGroup() {
  static thread_local OpenGroup open;
  return open;
}

template <typename Function>
Function* Driver(const char* name) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  return library == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library, name));
}

int AdvanceOf(void* operation) { return static_cast<Operation*>(operation)->Advance(); }
void ReleaseOf(void* operation) { delete static_cast<Operation*>(operation); }

int PutOnStream(Member& member) {
  auto* const enqueue = Driver<decltype(reprise_stand_in_enqueue)>("reprise_stand_in_enqueue");
  if (enqueue == nullptr) {
    return Refuse(kUnhandledCudaError, "libcuda.so.1's stand-in is not loaded");
  }
  std::vector<reprise_stand_in_range> ranges;
  for (const Call& call : member.pending->calls()) {
    ranges.push_back({call.in, member.pending->InBytes(call)});
    ranges.push_back({call.out, member.pending->OutBytes(call)});
  }
  const std::string text = member.pending->Text();
  const int code = enqueue(member.pending_stream, text.c_str(), ranges.data(), ranges.size(),
                           AdvanceOf, ReleaseOf, member.pending.release());
  return code == 0 ? kSuccess : kUnhandledCudaError;
}

int Add(void* handle, void* stream, const Call& call) {
  auto* const member = static_cast<Member*>(handle);
  if (member == nullptr || !member->group->has_joined) {
    return Refuse(kInvalidUsage, "a call of a group that is not there yet");
  }
  const int size = member->group->size;
  if (call.peer < 0 || call.peer >= size || SizeOf(call.type) == 0) {
    return Refuse(kInvalidArgument, fmt::format("{} with member {} of {}, type {}",
                                                NameOf(call.kind), call.peer, size, call.type));
  }
  OpenGroup& open = TheOpenGroup();
  if (open.depth == 0) {
    return Refuse(kInvalidUsage,
                  "the stand-in takes calls between ncclGroupStart and ncclGroupEnd");
  }
  open.calls.push_back({member, stream, call});
  return kSuccess;
}

const std::byte* In(unsigned long long address) {  // NOLINT(google-runtime-int)
  return std::bit_cast<const std::byte*>(address);
}
std::byte* Out(unsigned long long address) {  // NOLINT(google-runtime-int)
  return std::bit_cast<std::byte*>(address);
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming,google-runtime-int): NCCL's names.
extern "C" {

using Address = unsigned long long;

int ncclGetVersion(int* version) {
  const char* const set = std::getenv("REPRISE_STAND_IN_NCCL_VERSION");
  *version = set == nullptr ? kVersion : std::atoi(set);
  return kSuccess;
}

const char* ncclGetErrorString(int code) {
  constexpr const char* kTexts[] = {"no error",
                                    "unhandled cuda error",
                                    "unhandled system error",
                                    "internal error",
                                    "invalid argument",
                                    "invalid usage",
                                    "remote process exited or there was a network error",
                                    "NCCL operation in progress"};
  return code >= 0 && code <= kInProgress ? kTexts[code] : "unknown result code";
}

int ncclGetUniqueId(Identity* identity) {
  static long count = 0;
  *identity = {};
  const std::string name = fmt::format("reprise_nccl_{}_{}", getpid(), ++count);
  std::memcpy(identity->bytes, name.data(), name.size());
  return kSuccess;
}

int ncclCommInitRankConfig(void** handle, int size, Identity identity, int rank,
                           const Config* config) {
  constexpr unsigned kMagic = 0xcafebeef;
  if (config == nullptr || config->magic != kMagic || config->size < sizeof(Config) ||
      config->blocking != 0 || rank < 0 || rank >= size) {
    return Refuse(kInvalidArgument, "joining with waiting, or without a configuration");
  }
  auto member = std::make_unique<Member>();
  Group& group = *member->group;
  group.rank = rank;
  group.size = size;
  const char* const folder = std::getenv("REPRISE_STAND_IN_NCCL_FOLDER");
  group.folder.Use(fmt::format("{}/{}", folder == nullptr ? "/dev/shm" : folder, identity.bytes),
                   rank, size);
  if (JoinFails(rank)) {
    group.folder.Leave();
    return Refuse(kSystemError, "joining fails, as REPRISE_STAND_IN_NCCL_FAULT asks");
  }
  group.folder.Post(fmt::format("joined.{}", rank), "");
  *handle = member.release();
  return kInProgress;
}

int ncclCommGetAsyncError(void* handle, int* state) {
  auto& member = *static_cast<Member*>(handle);
  Group& group = *member.group;
  if (!group.has_joined && group.folder.HasAll("joined")) {
    group.has_joined = true;
    group.state = kSuccess;
  }
  if (member.pending != nullptr && ++member.polls >= kPollsOfCall) {
    const int code = PutOnStream(member);
    int waiting = kInProgress;
    group.state.compare_exchange_strong(waiting, code);
  }
  *state = group.state;
  return kSuccess;
}

int ncclCommAbort(void* handle) {
  const std::unique_ptr<Member> member(static_cast<Member*>(handle));
  member->group->is_aborted = true;
  member->group->folder.Leave();
  return kSuccess;
}

int ncclCommDestroy(void* handle) {
  const std::unique_ptr<Member> member(static_cast<Member*>(handle));
  if (member->group->under_way > 0) {
    Refuse(0, "a group is destroyed while an operation of it is under way");
    member->group->is_aborted = true;
  }
  member->group->folder.Leave();
  return kSuccess;
}

int ncclGroupStart() {
  ++TheOpenGroup().depth;
  return kSuccess;
}

int ncclGroupEnd() {
  OpenGroup& open = TheOpenGroup();
  if (--open.depth > 0) {
    return kSuccess;
  }
  const std::vector<PendingCall> calls = std::exchange(open.calls, {});
  if (calls.empty()) {
    return kSuccess;
  }
  Member& member = *calls.front().member;
  std::vector<Call> of_member;
  for (const PendingCall& one : calls) {
    if (one.member != &member || one.stream != calls.front().stream) {
      return Refuse(kInvalidUsage, "the stand-in takes one group and stream between start and end");
    }
    of_member.push_back(one.call);
  }
  if (member.pending != nullptr || member.group->state != kSuccess) {
    return Refuse(kInvalidUsage, "a call before the one before is on its way");
  }
  member.pending = std::make_unique<Operation>(member.group, std::move(of_member));
  member.pending_stream = calls.front().stream;
  member.polls = 0;
  member.group->state = kInProgress;
  return kInProgress;
}

int ncclAllReduce(Address in, Address out, std::size_t count, int type, int op, void* group,
                  void* stream) {
  return Add(group, stream, {Kind::kAllReduce, In(in), Out(out), count, type, op, 0});
}
int ncclReduce(Address in, Address out, std::size_t count, int type, int op, int root, void* group,
               void* stream) {
  return Add(group, stream, {Kind::kReduce, In(in), Out(out), count, type, op, root});
}
int ncclBroadcast(Address in, Address out, std::size_t count, int type, int root, void* group,
                  void* stream) {
  return Add(group, stream, {Kind::kBroadcast, In(in), Out(out), count, type, 0, root});
}
int ncclAllGather(Address in, Address out, std::size_t count, int type, void* group, void* stream) {
  return Add(group, stream, {Kind::kAllGather, In(in), Out(out), count, type, 0, 0});
}
int ncclReduceScatter(Address in, Address out, std::size_t count, int type, int op, void* group,
                      void* stream) {
  return Add(group, stream, {Kind::kReduceScatter, In(in), Out(out), count, type, op, 0});
}
int ncclSend(Address in, std::size_t count, int type, int peer, void* group, void* stream) {
  return Add(group, stream, {Kind::kSend, In(in), nullptr, count, type, 0, peer});
}
int ncclRecv(Address out, std::size_t count, int type, int peer, void* group, void* stream) {
  return Add(group, stream, {Kind::kRecv, nullptr, Out(out), count, type, 0, peer});
}
}
// NOLINTEND(readability-identifier-naming,google-runtime-int)

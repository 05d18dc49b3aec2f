// What operations do: files to and from the other members, and sums.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/kernels/cuda_stand_in/nccl_stand_in.h"

namespace nccl_stand_in {
namespace {

namespace fs = std::filesystem;

std::string Fault() {
  const char* const set = std::getenv("REPRISE_STAND_IN_NCCL_FAULT");
  return set == nullptr ? "" : set;
}

std::string PairName(int from, int to, long number) {
  return fmt::format("pair.{}.{}.{}", from, to, number);
}

std::string CollectiveName(long number) { return fmt::format("collective.{}", number); }

std::string OfRank(const std::string& name, int rank) { return fmt::format("{}.{}", name, rank); }

}  // namespace

int Refuse(int code, const std::string& why) {
  fmt::print(stderr, "stand-in NCCL: {}\n", why);
  return code;
}

const char* NameOf(Kind kind) {
  constexpr const char* kNames[] = {"all_reduce",     "reduce", "broadcast", "all_gather",
                                    "reduce_scatter", "send",   "recv"};
  return kNames[static_cast<std::size_t>(kind)];
}

bool JoinFails(int rank) {
  const std::string fault = Fault();
  return fault == "init" || fault == fmt::format("init:{}", rank);
}

bool OperationFails(long number, int rank) {
  const std::string fault = Fault();
  return fault == fmt::format("async:{}", number) ||
         fault == fmt::format("async:{}:{}", number, rank);
}

void Folder::Use(std::string path, int rank, int size) {
  path_ = std::move(path);
  rank_ = rank;
  size_ = size;
  fs::create_directories(path_);
}

void Folder::Post(const std::string& name, const std::string& bytes) const {
  const std::string made = fmt::format("{}/made.{}.{}", path_, rank_, name);
  std::ofstream(made, std::ios::binary) << bytes;
  std::error_code error;
  fs::rename(made, path_ + "/" + name, error);
}

bool Folder::Has(const std::string& name) const {
  return access((path_ + "/" + name).c_str(), F_OK) == 0;
}

std::string Folder::Read(const std::string& name) const {
  std::ifstream file(path_ + "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void Folder::Remove(const std::string& name) const {
  std::error_code error;
  fs::remove(path_ + "/" + name, error);
}

bool Folder::HasAll(const std::string& prefix) const {
  for (int rank = 0; rank < size_; ++rank) {
    if (!Has(OfRank(prefix, rank))) {
      return false;
    }
  }
  return true;
}

void Folder::Leave() const {
  Post(OfRank("left", rank_), "");
  if (HasAll("left")) {
    std::error_code error;
    fs::remove_all(path_, error);
  }
}

Operation::Operation(std::shared_ptr<Group> group, std::vector<Call> calls)
    : group_(std::move(group)), calls_(std::move(calls)) {
  first_collective_ = group_->collectives;
  for (const Call& call : calls_) {
    Part& part = parts_.emplace_back();
    if (call.kind == Kind::kSend) {
      part.name = PairName(group_->rank, call.peer, ++group_->sends[call.peer]);
    } else if (call.kind == Kind::kRecv) {
      part.name = PairName(call.peer, group_->rank, ++group_->receives[call.peer]);
    } else {
      part.name = CollectiveName(++group_->collectives);
    }
  }
  never_ends_ = OperationFails(++group_->operations, group_->rank);
  ++group_->under_way;
}

Operation::~Operation() { --group_->under_way; }

std::string Operation::Text() const {
  const Call& first = calls_.front();
  std::size_t bytes = 0;
  for (const Call& call : calls_) {
    bytes += std::max(InBytes(call), OutBytes(call));
  }
  return fmt::format("nccl {} calls {} bytes {} rank {} of {}", NameOf(first.kind), calls_.size(),
                     bytes, group_->rank, group_->size);
}

std::size_t Operation::InBytes(const Call& call) const {
  const std::size_t bytes = call.count * SizeOf(call.type);
  const bool is_absent =
      call.kind == Kind::kRecv || (call.kind == Kind::kBroadcast && call.peer != group_->rank);
  return is_absent ? 0 : call.kind == Kind::kReduceScatter ? bytes * group_->size : bytes;
}

std::size_t Operation::OutBytes(const Call& call) const {
  const std::size_t bytes = call.count * SizeOf(call.type);
  const bool is_absent =
      call.kind == Kind::kSend || (call.kind == Kind::kReduce && call.peer != group_->rank);
  return is_absent ? 0 : call.kind == Kind::kAllGather ? bytes * group_->size : bytes;
}

void Operation::Post() {
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    const Call& call = calls_[i];
    if (call.kind == Kind::kRecv) {
      continue;
    }
    std::string bytes(reinterpret_cast<const char*>(&call), sizeof(call));
    bytes.append(reinterpret_cast<const char*>(call.in), InBytes(call));
    const bool collective = call.kind != Kind::kSend;
    group_->folder.Post(collective ? OfRank(parts_[i].name, group_->rank) : parts_[i].name, bytes);
  }
}

// 0: it waits, 1: done, 2: it ended without doing anything, -1: it is wrong.
int Operation::Advance() {
  if (group_->is_aborted) {
    return 2;
  }
  if (never_ends_) {
    group_->state = kRemoteError;
    return 0;
  }
  if (!has_begun_) {
    Post();
    has_begun_ = true;
  }
  bool all_done = true;
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    parts_[i].is_done = parts_[i].is_done || Finish(calls_[i], parts_[i]);
    all_done = all_done && parts_[i].is_done;
    if (is_wrong_) {
      group_->state = kInternalError;
      return -1;
    }
  }
  return all_done ? 1 : 0;
}

bool Operation::Finish(const Call& call, Part& part) {
  const Folder& folder = group_->folder;
  if (call.kind == Kind::kSend) {
    return !folder.Has(part.name);
  }
  if (call.kind == Kind::kRecv) {
    return folder.Has(part.name) && FinishReceive(call, part.name);
  }
  return folder.HasAll(part.name) && FinishCollective(call, part.name);
}

bool Operation::Disagrees(const Call& mine, const Call& theirs) {
  const bool pair = mine.kind == Kind::kRecv;
  const bool agrees =
      mine.count == theirs.count && mine.type == theirs.type &&
      (pair || (mine.kind == theirs.kind && mine.op == theirs.op && mine.peer == theirs.peer));
  if (!agrees) {
    Refuse(0, fmt::format("{} of {} elements of type {}, operation {}, root {} meets {} of {} "
                          "elements of type {}, operation {}, root {}",
                          NameOf(mine.kind), mine.count, mine.type, mine.op, mine.peer,
                          NameOf(theirs.kind), theirs.count, theirs.type, theirs.op, theirs.peer));
    is_wrong_ = true;
  }
  return !agrees;
}

bool Operation::FinishReceive(const Call& call, const std::string& name) {
  const std::string file = group_->folder.Read(name);
  Call theirs;
  std::memcpy(&theirs, file.data(), sizeof(theirs));
  if (Disagrees(call, theirs)) {
    return false;
  }
  std::memcpy(call.out, file.data() + sizeof(theirs), OutBytes(call));
  group_->folder.Remove(name);
  return true;
}

bool Operation::FinishCollective(const Call& call, const std::string& name) {
  const int size = group_->size;
  std::vector<std::string> of;
  for (int rank = 0; rank < size; ++rank) {
    std::string& bytes = of.emplace_back(group_->folder.Read(OfRank(name, rank)));
    Call theirs;
    std::memcpy(&theirs, bytes.data(), sizeof(theirs));
    if (Disagrees(call, theirs)) {
      return false;
    }
    bytes.erase(0, sizeof(theirs));
  }
  const std::size_t bytes = call.count * SizeOf(call.type);
  if (call.kind == Kind::kBroadcast) {
    std::memcpy(call.out, of[static_cast<std::size_t>(call.peer)].data(), bytes);
  } else if (call.kind == Kind::kAllGather) {
    for (int rank = 0; rank < size; ++rank) {
      std::memcpy(call.out + rank * bytes, of[static_cast<std::size_t>(rank)].data(), bytes);
    }
  } else if (OutBytes(call) > 0) {
    const std::size_t begin = call.kind == Kind::kReduceScatter ? group_->rank * bytes : 0;
    auto* const sums = reinterpret_cast<std::byte*>(of[0].data()) + begin;
    for (std::size_t rank = 1; rank < of.size(); ++rank) {
      is_wrong_ = !Reduce(sums, reinterpret_cast<const std::byte*>(of[rank].data()) + begin,
                          call.count, call.type, call.op);
    }
    DivideAverage(sums, call.count, call.type, call.op, size);
    std::memcpy(call.out, sums, bytes);
  }
  // Who has begun this operation has ended those before.
  for (long before = first_collective_; before > 0; --before) {
    const std::string old = OfRank(CollectiveName(before), group_->rank);
    if (!group_->folder.Has(old)) {
      break;
    }
    group_->folder.Remove(old);
  }
  return true;
}

}  // namespace nccl_stand_in

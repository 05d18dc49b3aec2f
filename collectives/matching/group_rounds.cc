#include "collectives/matching/group_rounds.h"

#include <deque>

namespace reprise {

// What is under way, with its memory.
struct GroupRounds::Round {
  std::vector<Words> in, out;           // by group
  std::deque<std::string> texts, sent;  // deques: addresses stay
  std::vector<std::unique_ptr<Transfer>> transfers;

  Status Start(const GroupMember& group, CommSpec spec, std::span<const std::byte> in_bytes,
               std::span<std::byte> out_bytes) {
    spec.group = group.id;
    spec.in_bytes = static_cast<std::int64_t>(in_bytes.size());
    spec.out_bytes = static_cast<std::int64_t>(out_bytes.size());
    REPRISE_ASSIGN(auto transfer, group.comm->Start(spec, in_bytes, out_bytes));
    transfers.push_back(std::move(transfer));
    return {};
  }
};

namespace {

// Calls f(group, member, bytes) for what is coming, in one order on every call.
template <typename F>
void ForEachParcel(const std::vector<GroupRounds::Words>& coming, const F& f) {
  for (std::size_t k = 0; k < coming.size(); ++k) {
    for (std::size_t member = 0; member < coming[k].size(); ++member) {
      if (coming[k][member] > 0) {
        f(k, static_cast<int>(member), static_cast<std::size_t>(coming[k][member]));
      }
    }
  }
}

}  // namespace

// `factor`: words out for each word in; 0: one for each member.
Status GroupRounds::StartWords(Round& round, CommKind kind, ReduceOp op,
                               const std::vector<Words>& words, std::size_t factor) {
  round.in = words;
  round.out.resize(words.size());
  for (std::size_t k = 0; k < words.size(); ++k) {
    if (words[k].empty()) {
      continue;
    }
    const auto size = static_cast<std::size_t>(groups_[k].place.size());
    round.out[k].resize(words[k].size() * (factor == 0 ? size : factor));
    const CommSpec spec{.kind = kind, .dtype = DType::kInt64, .op = op};
    REPRISE_TRY(round.Start(groups_[k], spec, std::as_bytes(std::span(round.in[k])),
                            std::as_writable_bytes(std::span(round.out[k]))));
  }
  return {};
}

Status GroupRounds::Finish(std::unique_ptr<Round>& round, Status started) {
  for (std::size_t i = 0; i < round->transfers.size() && started; ++i) {
    started = communicator_.Await(*round->transfers[i]);
  }
  if (!started) {
    // Cut short: other ranks may read and write this memory until the process ends.
    static_cast<void>(round.release());
  }
  return started;
}

Status GroupRounds::AllReduce(ReduceOp op, std::vector<Words>& words) {
  auto round = std::make_unique<Round>();
  REPRISE_TRY(Finish(round, StartWords(*round, CommKind::kAllReduce, op, words, 1)));
  words = std::move(round->out);
  return {};
}

Result<std::vector<GroupRounds::Words>> GroupRounds::AllGather(const std::vector<Words>& words) {
  auto round = std::make_unique<Round>();
  REPRISE_TRY(Finish(round, StartWords(*round, CommKind::kAllGather, {}, words, 0)));
  return std::move(round->out);
}

Result<std::vector<GroupRounds::Words>> GroupRounds::AllToAll(const std::vector<Words>& words) {
  auto round = std::make_unique<Round>();
  REPRISE_TRY(Finish(round, StartWords(*round, CommKind::kAllToAll, {}, words, 1)));
  return std::move(round->out);
}

Result<std::string> GroupRounds::Broadcast(const std::string& text) {
  std::vector<Words> size(groups_.size());
  size.front() = {static_cast<std::int64_t>(groups_.front().place.rank == 0 ? text.size() : 0)};
  REPRISE_TRY(AllReduce(ReduceOp::kMax, size));
  auto round = std::make_unique<Round>();
  std::string& bytes = round->texts.emplace_back(text);
  bytes.resize(static_cast<std::size_t>(size.front().front()));
  const CommSpec spec{.kind = CommKind::kBroadcast, .dtype = DType::kUInt8, .root = RankOf(0, 0)};
  const auto memory = std::as_writable_bytes(std::span(bytes));
  if (!bytes.empty()) {
    REPRISE_TRY(Finish(round, round->Start(groups_.front(), spec, memory, memory)));
  }
  return std::move(round->texts.front());
}

Result<std::vector<GroupRounds::Parcels>> GroupRounds::Deliver(
    const std::vector<Parcels>& parcels, const std::vector<bool>& takes_part) {
  std::vector<Words> sizes(groups_.size());
  for (std::size_t k = 0; k < groups_.size(); ++k) {
    if (takes_part[k]) {
      sizes[k].resize(static_cast<std::size_t>(groups_[k].place.size()));
      for (const auto& [member, text] : parcels[k]) {
        sizes[k][static_cast<std::size_t>(member)] = static_cast<std::int64_t>(text.size());
      }
    }
  }
  REPRISE_ASSIGN(const std::vector<Words> coming, AllToAll(sizes));
  auto round = std::make_unique<Round>();
  REPRISE_TRY(Finish(round, StartParcels(*round, parcels, coming)));
  std::vector<Parcels> arrived(groups_.size());
  auto text = round->texts.begin();
  ForEachParcel(coming, [&](std::size_t k, int member, std::size_t) {
    arrived[k][member] = std::move(*text++);
  });
  return arrived;
}

// Receives first: what arrives early then has a place to go.
Status GroupRounds::StartParcels(Round& round, const std::vector<Parcels>& parcels,
                                 const std::vector<Words>& coming) const {
  Status started;
  ForEachParcel(coming, [&](std::size_t k, int member, std::size_t size) {
    const CommSpec spec{.kind = CommKind::kRecv, .dtype = DType::kUInt8, .peer = RankOf(k, member)};
    std::string& text = round.texts.emplace_back(size, '\0');
    if (started) {
      started = round.Start(groups_[k], spec, {}, std::as_writable_bytes(std::span(text)));
    }
  });
  REPRISE_TRY(started);
  for (std::size_t k = 0; k < groups_.size(); ++k) {
    for (const auto& [member, text] : parcels[k]) {
      const CommSpec spec{
          .kind = CommKind::kSend, .dtype = DType::kUInt8, .peer = RankOf(k, member)};
      round.sent.push_back(text);
      REPRISE_TRY(round.Start(groups_[k], spec, std::as_bytes(std::span(round.sent.back())), {}));
    }
  }
  return {};
}

std::int32_t GroupRounds::RankOf(std::size_t k, int member) const {
  return groups_[k].place.ranks[static_cast<std::size_t>(member)];
}

}  // namespace reprise

// Bodies beyond "each collective is right": order, groups, coordination, refusals.
#include <fmt/format.h>
#include <sched.h>

#include <numeric>
#include <thread>

#include "collectives/algorithms/group.h"
#include "collectives/checked_data.h"
#include "collectives/layout.h"
#include "collectives/matching/matching.h"
#include "core/clock.h"
#include "tests/collectives/spmd.h"

namespace reprise::testing {
namespace {

std::vector<std::int32_t> AllRanks(const Communicator& communicator) {
  std::vector<std::int32_t> all(static_cast<std::size_t>(communicator.size()));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// A transfer with its memory, started and not yet waited for.
struct Outstanding {
  CommSpec spec;
  GroupPlace place;
  std::vector<std::byte> in;
  std::vector<std::byte> out;
  std::unique_ptr<Transfer> transfer;

  Status Start(GroupComm& group) {
    in.resize(static_cast<std::size_t>(spec.in_bytes));
    out.resize(static_cast<std::size_t>(spec.out_bytes));
    FillInput(spec, place, in);
    auto started = group.Start(spec, in, out);
    if (!started) {
      return tl::unexpected<Error>(started.error());
    }
    transfer = std::move(*started);
    return {};
  }
  [[nodiscard]] Status Finish() const {
    REPRISE_TRY(Await(*transfer));
    return VerifyOutput(spec, place, out);
  }
};

Status Expect(bool holds, std::string_view what) {
  return holds ? Status() : Status(CheckFailed(std::string(what)));
}

}  // namespace

// Two groups with the same ranks, and one that shares some: each has its own order, members start
// them in different orders between groups, and end them in the reverse.
Status OverlappingGroupsBody(Communicator& communicator) {
  return OverlappingGroupsWith(communicator, {});
}

Status OverlappingGroupsWith(Communicator& communicator, const AlgorithmChoices& choices) {
  const std::vector<std::int32_t> all = AllRanks(communicator);
  const std::vector<std::int32_t> some(all.begin(), all.end() - (all.size() > 2 ? 1 : 0));
  const std::vector<const std::vector<std::int32_t>*> ranks = {&all, &all, &some};
  std::vector<std::unique_ptr<GroupComm>> groups;
  GroupMaker maker(communicator, choices);
  for (const auto* members : ranks) {
    REPRISE_ASSIGN(auto group, maker.Create(*members, "test"));
    groups.push_back(std::move(group));
  }
  for (int round = 0; round < 20; ++round) {
    std::vector<Outstanding> outstanding;
    outstanding.reserve(groups.size() * 3);
    for (std::size_t i = 0; i < groups.size(); ++i) {
      // Odd ranks begin with the last group.
      const std::size_t g = communicator.rank() % 2 == 0 ? i : groups.size() - 1 - i;
      const int position = PositionOf(communicator.rank(), *ranks[g]);
      for (const CommKind kind :
           {CommKind::kAllReduce, CommKind::kAllGather, CommKind::kAllToAll}) {
        if (groups[g] == nullptr) {
          continue;
        }
        const GroupPlace place{.ranks = *ranks[g], .rank = position};
        // Sizes on both sides of where transports change their protocol.
        const Case c{.kind = kind, .elements = (round % 4 + 1) * (g == 1 ? 10'000 : 17)};
        outstanding.push_back({.spec = SpecOf(c, place), .place = place});
        REPRISE_TRY(outstanding.back().Start(*groups[g]));
      }
    }
    for (auto it = outstanding.rbegin(); it != outstanding.rend(); ++it) {
      REPRISE_TRY(it->Finish());
    }
  }
  return communicator.Barrier();
}

// Messages of one pair arrive in the order of issue, whatever their size.
Status OrderedMessagesBody(Communicator& communicator) {
  const std::vector<std::int32_t> all = AllRanks(communicator);
  REPRISE_ASSIGN(const auto group, communicator.CreateGroup(all));
  const int n = communicator.size();
  constexpr int kMessages = 12;
  std::vector<std::vector<std::int32_t>> sent;
  std::vector<std::vector<std::int32_t>> received;
  std::vector<std::unique_ptr<Transfer>> transfers;
  for (int peer = 0; peer < n; ++peer) {
    for (int m = 0; m < kMessages && peer != communicator.rank(); ++m) {
      const std::size_t elements = m % 3 == 0 ? 20'000 : static_cast<std::size_t>(m);
      sent.emplace_back(elements, communicator.rank() * 1000 + peer * 100 + m);
      received.emplace_back(elements, -1);
    }
  }
  std::size_t i = 0;
  for (int peer = 0; peer < n; ++peer) {
    for (int m = 0; m < kMessages && peer != communicator.rank(); ++m, ++i) {
      CommSpec spec{.kind = CommKind::kSend, .dtype = DType::kInt32, .peer = peer};
      spec.in_bytes = static_cast<std::int64_t>(sent[i].size() * sizeof(std::int32_t));
      REPRISE_ASSIGN(auto sending, group->Start(spec, std::as_bytes(std::span(sent[i])), {}));
      transfers.push_back(std::move(sending));
      spec.kind = CommKind::kRecv;
      std::swap(spec.in_bytes, spec.out_bytes);
      REPRISE_ASSIGN(auto receiving,
                     group->Start(spec, {}, std::as_writable_bytes(std::span(received[i]))));
      transfers.push_back(std::move(receiving));
    }
  }
  for (const auto& transfer : transfers) {
    REPRISE_TRY(Await(*transfer));
  }
  i = 0;
  for (int peer = 0; peer < n; ++peer) {
    for (int m = 0; m < kMessages && peer != communicator.rank(); ++m, ++i) {
      const std::int32_t expected = peer * 1000 + communicator.rank() * 100 + m;
      for (const std::int32_t value : received[i]) {
        REPRISE_TRY(Expect(value == expected,
                           fmt::format("message {} of rank {} holds {}", m, peer, value)));
      }
    }
  }
  return communicator.Barrier();
}

// Nobody leaves a barrier before the last has come.
Status BarrierBody(Communicator& communicator) {
  const std::vector<std::int32_t> all = AllRanks(communicator);
  REPRISE_ASSIGN(const auto group, communicator.CreateGroup(all));
  const int last = communicator.size() - 1;
  REPRISE_TRY(communicator.Barrier());
  if (communicator.rank() == last) {  // late, so that the others are there before
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
  }
  const std::int64_t arrived_ns = MonotonicNs();
  REPRISE_ASSIGN(const auto transfer, group->Start({.kind = CommKind::kBarrier}, {}, {}));
  REPRISE_TRY(Await(*transfer));
  const std::int64_t left_ns = MonotonicNs();
  // All ranks of a test share a host, and so a clock.
  REPRISE_ASSIGN(const std::vector<std::string> arrivals,
                 communicator.AllGather(std::to_string(arrived_ns)));
  return Expect(left_ns >= std::stoll(arrivals.at(static_cast<std::size_t>(last))),
                "left a barrier early");
}

Status CoordinationBody(Communicator& communicator) {
  const int rank = communicator.rank();
  const int size = communicator.size();
  for (int round = 0; round < 3; ++round) {
    // Lengths differ, rank 0 has nothing.
    const std::string mine(static_cast<std::size_t>(rank) * 70'001, static_cast<char>('a' + rank));
    REPRISE_ASSIGN(const std::vector<std::string> all, communicator.AllGather(mine));
    REPRISE_TRY(Expect(static_cast<int>(all.size()) == size, "AllGather: entries"));
    for (int r = 0; r < size; ++r) {
      const std::string expected(static_cast<std::size_t>(r) * 70'001, static_cast<char>('a' + r));
      REPRISE_TRY(Expect(all[static_cast<std::size_t>(r)] == expected, "AllGather: bytes"));
    }
  }
  REPRISE_TRY(communicator.Agree({}));
  // The lowest failing rank's error, on every rank.
  const int culprit = size / 2;
  const Status mine =
      rank >= culprit ? Status(EnvironmentError(fmt::format("no device {}", rank))) : Status();
  const Status agreed = communicator.Agree(mine);
  REPRISE_TRY(Expect(!agreed.has_value(), "Agree must fail where one rank fails"));
  REPRISE_TRY(Expect(agreed.error().kind == ErrorKind::kEnvironment, "Agree: kind"));
  const std::string expected =
      size == 1 ? "no device 0" : fmt::format("rank {}: no device {}", culprit, culprit);
  REPRISE_TRY(Expect(agreed.error().message == expected, "Agree: " + agreed.error().message));
  REPRISE_TRY(Expect(!communicator.PollAbort(), "nobody has raised an abort"));
  return Expect(communicator.local_size() == size && communicator.local_rank() == rank &&
                    !communicator.host().empty(),
                "one host holds all ranks here");
}

// What cannot run is refused where it starts, without harm to what follows.
Status BadSpecsBody(Communicator& communicator) {
  const std::vector<std::int32_t> all = AllRanks(communicator);
  REPRISE_ASSIGN(const auto group, communicator.CreateGroup(all));
  std::vector<std::byte> memory(1024);
  const auto refused = [&](const CommSpec& spec, std::size_t bytes, ErrorKind kind) {
    const auto started =
        group->Start(spec, std::span(memory).first(bytes), std::span(memory).first(bytes));
    return Expect(!started && started.error().kind == kind, "must be refused: " + Describe(spec));
  };
  const std::int64_t n = communicator.size();
  using K = CommKind;
  const auto bad = ErrorKind::kBadInput;
  const CommSpec sum{
      .kind = K::kAllReduce, .dtype = DType::kFloat32, .in_bytes = 64, .out_bytes = 64};
  CommSpec spec = sum;
  REPRISE_TRY(refused(spec, 63, ErrorKind::kUsage));  // buffer too small
  spec.op = ReduceOp::kBxor;
  REPRISE_TRY(refused(spec, 64, ErrorKind::kUsage));  // no xor of floats
  spec = sum;
  spec.out_bytes = 60;
  REPRISE_TRY(refused(spec, 64, bad));
  spec = sum;
  spec.in_bytes = spec.out_bytes = 63;  // no whole number of floats
  REPRISE_TRY(refused(spec, 64, bad));
  spec = {.kind = K::kBroadcast, .in_bytes = 8, .out_bytes = 8, .root = static_cast<int>(n)};
  REPRISE_TRY(refused(spec, 64, bad));
  spec = {.kind = K::kSend, .in_bytes = 8, .peer = communicator.rank()};
  REPRISE_TRY(refused(spec, 64, bad));
  spec = {.kind = K::kAllGather, .in_bytes = 8, .out_bytes = 8 * n + 1};
  REPRISE_TRY(refused(spec, 64, bad));
  spec = {.kind = K::kAllToAll, .in_bytes = 8 * n, .out_bytes = 8 * n};
  spec.in_splits.assign(static_cast<std::size_t>(n), 7);
  REPRISE_TRY(refused(spec, 64, bad));  // splits do not sum to the buffer
  REPRISE_TRY(Expect(!communicator.CreateGroup({}), "an empty group"));
  REPRISE_TRY(Expect(!communicator.CreateGroup({0, 0}), "a rank twice"));
  REPRISE_TRY(Expect(!communicator.CreateGroup({static_cast<int>(n)}), "a rank beyond the run"));
  const GroupPlace place{.ranks = all, .rank = communicator.rank()};
  return RunCase(*group, place, {.kind = K::kAllReduce});
}

// From the next rank, while nobody waits for anybody; what is long arrives cut.
Status NotesBody(Communicator& communicator) {
  const int size = communicator.size();
  if (size == 1) {
    return Expect(!communicator.TakeNote(), "a note from nowhere");
  }
  const int to = (communicator.rank() + 1) % size;
  const int from = (communicator.rank() + size - 1) % size;
  constexpr int kNotes = 100;
  for (int i = 0; i < kNotes; ++i) {
    communicator.PostNote(to, std::to_string(i));
  }
  communicator.PostNote(to, std::string(10'000, 'x'));
  const std::int64_t deadline_ns = MonotonicNs() + 60'000'000'000;
  for (int i = 0; i <= kNotes && MonotonicNs() < deadline_ns;) {
    const std::optional<Note> note = communicator.TakeNote();
    if (!note) {
      continue;
    }
    REPRISE_TRY(Expect(note->from == from, "a note from the wrong rank"));
    const bool is_long = i == kNotes && note->text.size() >= Communicator::kNoteBytes &&
                         note->text == std::string(note->text.size(), 'x');
    REPRISE_TRY(
        Expect(is_long || note->text == std::to_string(i), "notes change, or their order does"));
    ++i;
  }
  REPRISE_TRY(communicator.Barrier());
  return Expect(!communicator.TakeNote(), "more notes than were sent");
}

// Plans survive the exchange; uneven sizes that only their owners know become splits.
Status PlansBody(Communicator& communicator) {
  const int rank = communicator.rank();
  const std::vector<std::int32_t> all = AllRanks(communicator);
  CommSpec gather{.kind = CommKind::kAllGather, .group = "0", .dtype = DType::kBFloat16};
  std::int64_t total = 0;
  for (const std::int32_t r : all) {
    total += 2 * (r + 1);
  }
  gather.in_bytes = 2 * (rank + 1);
  gather.out_bytes = total;
  CommSpec other{.kind = CommKind::kBarrier, .group = "ü", .sequence = 1'000'000'000'007};
  std::vector<PlannedTransfer> mine = {{.node_id = 1ULL << 60, .spec = gather},
                                       {.node_id = 7, .spec = other}};
  GroupMaker maker(communicator, {});
  REPRISE_ASSIGN(const auto group, maker.Create(all, "0"));
  REPRISE_ASSIGN(const auto second, maker.Create(all, "ü"));
  const GroupPlace place{.ranks = all, .rank = rank};
  GroupRounds rounds(communicator, {{"0", place, group.get()}, {"ü", place, second.get()}});
  REPRISE_TRY(MatchAcross(
      rounds, [&](const std::string&) { return all; }, mine));
  if (communicator.size() > 1) {
    std::vector<std::int64_t> splits;
    std::transform(all.begin(), all.end(), std::back_inserter(splits),
                   [](std::int32_t r) { return r + 1; });
    REPRISE_TRY(Expect(mine[0].spec.out_splits == splits, "splits are not completed"));
  }
  Outstanding outstanding{.spec = mine[0].spec, .place = place};
  REPRISE_TRY(outstanding.Start(*group));
  return outstanding.Finish();
}

}  // namespace reprise::testing

// When the members of every transfer of a run had arrived: all that ranks need of each other's
// nodes. Ranks come one by one, twice, and need not be in memory together. Only report/ sees this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "report/nodes/measured.h"
#include "report/values/transfer_values.h"

namespace reprise {

class RunTransfers {
 public:
  // Of a run with these ranks: iterations that count are from their steps, nothing from their
  // nodes. A rank's position is its place among them.
  explicit RunTransfers(std::span<const MeasuredRank> ranks);

  // Each rank once, in any order.
  void Add(const MeasuredRank& rank, std::size_t position);
  // After all ranks were added. What follows needs it.
  void Close();

  // The numbers of the rank's transfers, by position in RankData::collectives; kNone: its node is
  // not known.
  static constexpr std::uint32_t kNone = UINT32_MAX;
  [[nodiscard]] std::vector<std::uint32_t> NumbersOf(const MeasuredRank& rank) const;
  // Of the rank, whose transfers have these numbers: times from the last arrival to its own end, by
  // record; kUnknown where not all members finished that iteration. Empty without transfers.
  static constexpr std::int64_t kUnknown = INT64_MIN;
  [[nodiscard]] std::vector<std::int64_t> OwnTimesNs(const MeasuredRank& rank,
                                                     std::span<const std::uint32_t> numbers) const;
  // Adds what the rank spent in transfers to the rows. Each rank once. Thread-safe.
  void AddOwnTimes(const MeasuredRank& rank, std::span<const std::uint32_t> numbers,
                   std::span<const std::int64_t> own_ns);

  // As algbw counts them: the most that any member says.
  [[nodiscard]] std::int64_t BytesOf(std::uint32_t number) const {
    return transfers_[number].bytes;
  }
  // How many pairs of a transfer and an iteration there are, and which one this is.
  [[nodiscard]] std::size_t executions() const { return executions_.size(); }
  [[nodiscard]] std::size_t ExecutionOf(std::uint32_t number, std::int32_t iteration) const {
    return number * iterations_.size() + SlotOf(iteration);
  }
  // By name, group, bytes.
  [[nodiscard]] std::vector<CollectiveRow> Rows();

 private:
  // So many transfers took so long.
  struct WeightedTime {
    std::int64_t ns = 0, weight = 1;
  };
  // A row of the table while it grows. Weights are transfers; of classes of ranks, whose members of
  // a group are not all in the run, members.
  struct Row {
    CollectiveRow row;
    CommKind kind = CommKind::kBarrier;
    std::int64_t members_each = 1;  // how many weights one transfer has
    bool modelled = false;
    std::int64_t weight = 0;
    std::vector<WeightedTime> recorded_ns, replayed_ns;  // the latter of every iteration
    std::int64_t replayed_sum_ns = 0;
  };
  using RowKey = std::tuple<std::string, std::string, std::int64_t, ReplayMode, std::int32_t>;
  // What a row of the table needs of a transfer's member.
  struct Side {
    std::uint32_t rank = UINT32_MAX;  // position
    std::uint32_t kind = 0;           // in kinds_
    Row* row = nullptr;
    ReplayMode mode = ReplayMode::kReal;
    bool modelled = false;  // its node's time
    std::int64_t alike = 1;
  };
  struct Transfer {
    Side first;     // of a pair the send, else the first rank
    Side received;  // of a pair
    std::uint32_t members = 0;
    std::uint32_t host = 0;
    bool one_host = true, related = true, modelled = true;
    std::int64_t bytes = 0, recorded_ns = 0, alike = 0;
  };
  // One iteration of a transfer.
  struct Execution {
    std::int64_t arrival_ns = INT64_MIN, shortest_ns = INT64_MAX;
    std::int64_t end_ns = INT64_MIN;  // of a pair the receive's: a send may end before it
    std::uint32_t members = 0;
  };
  struct Kind {
    CommKind kind = CommKind::kBarrier;
    std::string group;  // the role of folded sets' groups
    std::int32_t group_size = 1;
    bool folded = false;
  };
  // Transfers that have one order: of a group, or from one rank to another.
  struct Sequence {
    std::vector<std::uint32_t> numbers;         // by index
    std::map<std::int64_t, std::uint32_t> far;  // of indices beyond
    [[nodiscard]] std::uint32_t Find(std::int64_t index) const;
    void Set(std::int64_t index, std::uint32_t number);
  };
  // Group, whether point-to-point, kind and −1 or source and destination.
  template <typename Text>
  using SequenceKey = std::tuple<Text, bool, std::int32_t, std::int32_t>;
  template <typename Text>
  using KindKey = std::tuple<CommKind, Text, Text, std::int32_t>;
  // Of keys with texts and with views. clang 14 does not compare such tuples.
  struct KeyLess {
    using is_transparent = void;
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return LessFrom<0>(a, b);
    }

   private:
    template <std::size_t I, typename A, typename B>
    static bool LessFrom(const A& a, const B& b) {
      if constexpr (I == std::tuple_size_v<A>) {
        return false;
      } else {
        return std::get<I>(a) < std::get<I>(b) ||
               (!(std::get<I>(b) < std::get<I>(a)) && LessFrom<I + 1>(a, b));
      }
    }
  };

  // Where a member stands.
  struct Place {
    std::size_t position = 0;
    std::uint32_t host = 0, node = 0;
  };

  static SequenceKey<std::string_view> KeyOf(const CommSpec& spec, std::int32_t rank);
  // Of an iteration that counts.
  [[nodiscard]] std::size_t SlotOf(std::int32_t iteration) const;
  [[nodiscard]] std::uint32_t KindOf(const CollectiveInfo& info);
  [[nodiscard]] std::uint32_t NumberOf(const CommSpec& spec, std::int32_t rank);
  void AddMember(const MeasuredRank& rank, const Place& place, const CollectiveInfo& info,
                 Transfer& transfer);
  // Of the node the record that counts in each iteration; kNone: there is none.
  void FindRecords(const MeasuredRank& rank, std::uint32_t node,
                   std::vector<std::uint32_t>& records) const;
  void AddExecutions(const RankData& data, const CollectiveInfo& info,
                     std::span<const std::uint32_t> records, std::uint32_t number);
  [[nodiscard]] TransferClock ClockOf(const Transfer& transfer) const;
  // Nothing where not all members finished it.
  [[nodiscard]] std::optional<std::int64_t> WholeNs(const Transfer& transfer, TransferClock clock,
                                                    std::size_t execution) const;
  void AddToRow(const Transfer& transfer, TransferClock clock,
                const std::vector<std::int64_t>& whole_ns, Side& side);
  [[nodiscard]] static std::optional<std::int64_t> WeightedMedian(std::vector<WeightedTime>& times);
  [[nodiscard]] static CollectiveRow Finish(Row& row);

  std::vector<std::int32_t> iterations_;  // sorted
  std::mutex mutex_;
  std::map<SequenceKey<std::string>, Sequence, KeyLess> sequences_;
  std::map<KindKey<std::string>, std::uint32_t, KeyLess> kind_numbers_;
  std::map<std::string, std::uint32_t> hosts_;
  std::vector<Kind> kinds_;
  std::deque<Transfer> transfers_;
  std::deque<Execution> executions_;       // by transfer and iteration
  std::vector<std::int64_t> modelled_ns_;  // likewise, as far as a model says how long they take
  std::map<RowKey, Row> rows_;
};

}  // namespace reprise

// Transfers by kind, group and size: values of the report.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "report/run/run.h"

namespace reprise {

// Which clock a transfer's last arrival was taken from.
enum class TransferClock : std::uint8_t {
  kShared,    // all members on one host
  kOffset,    // hosts' clocks related by readings (report/run/clocks.h)
  kShortest,  // unrelated or missing clocks: the shortest member's time, which the last to arrive
              // has
};

[[nodiscard]] std::string_view Name(TransferClock clock);

// All transfers of one kind, group and size.
struct CollectiveRow {
  std::string name;   // "all_reduce", "send", …
  std::string group;  // as in the trace set; the role of folded sets' groups, all of them together
  std::int32_t group_size = 1;
  std::int64_t bytes = 0;  // as algbw counts them
  std::int64_t count = 0;  // in one pass over the trace
  ReplayMode mode = ReplayMode::kReal;
  TransferClock clock = TransferClock::kShared;
  std::optional<std::int64_t> recorded_ns;  // median; nothing: none of them has a time
  std::optional<std::int64_t> replayed_ns;  // median from the last arrival to the last end
  // All of one pass over the trace; replayed: of each transfer the median over iterations.
  std::int64_t recorded_sum_ns = 0, replayed_sum_ns = 0;
  // What all members spent in them from the last arrival on, likewise; of a pair one side's.
  std::optional<std::int64_t> members_ns;
  std::optional<double> algbw_gb_per_s, busbw_gb_per_s;  // none for nothing sent or not measured
};

}  // namespace reprise

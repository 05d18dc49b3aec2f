// How near a replay came to its recording: by node, class, stream and critical path, and what the
// step's difference is made of. docs/definitions.md, "Measures", defines each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace reprise {

// What moved the end of one pass over the trace, from the recording to the replay.
struct DifferenceRow {
  enum class Kind : std::uint8_t {
    kClass,      // the time of a class of operations, where it is on the critical path
    kTransport,  // transfers, from the last arrival on: communication that nothing hides
    kHostDelay,  // host nodes and gaps between nodes of one thread or stream
    kWakeUp,     // from the end of what was waited for elsewhere to the start
    kOrder,      // starts before what they waited for in the recording
    kOutside,    // before the first node and after the last
  };
  Kind kind = Kind::kClass;
  std::string name;  // "gemm", …, "transport", "host_delay", "wake_up", "order", "outside"
  std::int64_t ns = 0;
};

struct Difference {
  std::int32_t iteration = -1;  // whose pass time is the median
  std::int64_t recorded_ns = 0, replayed_ns = 0;
  std::vector<DifferenceRow> parts;  // sum to replayed_ns − recorded_ns; largest first
};

// |replayed − recorded| / recorded of the nodes that were measured, weighted by recorded time.
struct NodeErrors {
  std::int64_t count = 0;
  double mean_absolute_error = 0;  // sum of |differences| / sum of recorded times
  double p05 = 0, p25 = 0, p50 = 0, p75 = 0, p95 = 0;  // signed
  double within_tenth = 0;                             // share of the recorded time
};

struct TopDifferenceRow {
  std::string name, op_class, kernel;
  std::int64_t count = 0;
  std::int64_t recorded_ns = 0, replayed_ns = 0;
  std::string cause;  // likely, in words
};

// A thread or stream: time in nodes that count.
struct ActorRow {
  std::string name;  // "rank 0, thread 1"
  std::int64_t nodes = 0;
  std::int64_t recorded_busy_ns = 0, replayed_busy_ns = 0;
  std::int64_t recorded_gaps_ns = 0, replayed_gaps_ns = 0;  // between its nodes
  std::int64_t order_changes = 0;  // neighbours that began in the other order
};

// On the longest chain of nodes and delays, by class; "delay" for what lies between nodes.
struct PathRow {
  std::string name;
  std::int64_t recorded_ns = 0, replayed_ns = 0;
};

// What one pass over the trace would take less if a class of operations took no time: edges, delays
// and all other times stay. A bound, and no promise: nothing takes no time.
struct GainRow {
  std::string name;          // a class; "comm": transfers, from the last arrival on
  std::int64_t time_ns = 0;  // of all ranks
  std::int64_t gain_ns = 0;
};

// A rank's transfers of one group, and how much of them no operation of the rank overlapped.
struct OverlapRow {
  std::int32_t rank = 0;
  std::string group;
  std::int64_t recorded_ns = 0, replayed_ns = 0;
  std::int64_t recorded_exposed_ns = 0, replayed_exposed_ns = 0;
};

struct FidelityDetails {
  std::optional<Difference> difference;
  std::optional<NodeErrors> nodes;
  std::vector<TopDifferenceRow> top_differences;  // ten at most, by |difference|
  std::vector<ActorRow> actors;
  std::vector<PathRow> critical_path;
  std::vector<GainRow> gains;  // of the ten classes that take the most time; largest first
  std::vector<OverlapRow> overlap;
  // Empty, or why there is nothing but `nodes` and `top_differences`; of a run that was read host
  // by host actors and overlap are there too.
  std::string why_not;
};

}  // namespace reprise

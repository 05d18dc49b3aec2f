// When the host of a rank comes where once parts of its program are more or fewer.
#pragma once

#include <cstdint>
#include <vector>

#include "et_schema/graph.h"
#include "predict/rescale/repetition.h"

namespace reprise {

// A new part takes the time that the host took for the recorded one, from its begin to the next
// one's; what a part launched starts as much later as the part.
class RepeatedTimes {
 public:
  // `places` must outlive it.
  RepeatedTimes(const Graph& graph, const Repetition& places);

  // How much later a node starts than the recorded one that it is or copies.
  [[nodiscard]] std::int64_t ShiftOf(const RepeatedPlace& one) const;
  // A recorded time, as Node::start_ns. One within what is left out: where that was.
  [[nodiscard]] std::int64_t After(std::int64_t ns) const;
  // Ranges within a part are copied with it; those around it are longer or shorter. More of them
  // than a file may have are left out, and counted among the diagnostics.
  void MoveRanges(TraceMetadata& header) const;

 private:
  struct Growth {  // by equal parts, in recorded time
    std::int64_t at_ns = 0, by_ns = 0;
    std::int64_t before_ns = 0;  // what earlier ones grew by
    std::int64_t left_out_from_ns = 0;
    struct Part {
      std::int64_t from_ns = 0, to_ns = 0;  // of its source
      std::int64_t shift_ns = 0;
    };
    std::vector<Part> parts;  // new ones
  };

  const Repetition& places_;
  std::vector<Growth> growth_;
};

}  // namespace reprise

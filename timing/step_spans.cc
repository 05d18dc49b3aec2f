#include "timing/step_spans.h"

#include <algorithm>

namespace reprise {

std::vector<std::pair<std::int64_t, std::int64_t>> StepSpans(
    const std::vector<std::int64_t>& begin_ns, std::int64_t end_ns) {
  std::vector<std::pair<std::int64_t, std::int64_t>> spans(begin_ns.size());
  for (std::size_t s = begin_ns.size(); s-- > 0;) {
    const std::int64_t begin = std::min(begin_ns[s], end_ns);
    spans[s] = {begin, end_ns};
    end_ns = begin;
  }
  return spans;
}

}  // namespace reprise

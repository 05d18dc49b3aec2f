#include "report/text/part_meaning.h"

#include <algorithm>
#include <array>
#include <utility>

namespace reprise {

std::string_view PartMeaning(std::string_view name) {
  using Meaning = std::pair<std::string_view, std::string_view>;
  constexpr std::array kMeanings = {
      Meaning{"transport", "transfers that nothing hides, from the last arrival on"},
      Meaning{"host_delay", "host nodes, and gaps on threads and streams"},
      Meaning{"wake_up", "from the end of what was waited for elsewhere to the start"},
      Meaning{"order", "starts before what they waited for in the recording"},
      Meaning{"outside", "before the first node and after the last"},
  };
  const auto* const found = std::ranges::find(kMeanings, name, &Meaning::first);
  return found == kMeanings.end() ? std::string_view() : found->second;
}

}  // namespace reprise

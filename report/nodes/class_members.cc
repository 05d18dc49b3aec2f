#include "report/nodes/class_members.h"

#include <algorithm>
#include <string_view>

#include "core/text.h"

namespace reprise {

ClassMembers::ClassMembers(std::span<const MeasuredRank> ranks) {
  for (std::uint32_t position = 0; position < ranks.size(); ++position) {
    const std::string_view text = ranks[position].data().facts.class_members;  // "0-7, 64-127:8"
    for (std::string_view range : SplitText(text, ',')) {
      range.remove_prefix(range.starts_with(' ') ? 1 : 0);
      const std::size_t colon = range.find(':');
      const std::size_t dash = range.find('-');
      const auto first = ParseNumber<std::int32_t>(range.substr(0, std::min(dash, colon)));
      if (!first) {
        continue;
      }
      Members members{.first = *first, .last = *first, .position = position};
      if (dash != std::string_view::npos) {
        const std::string_view last = range.substr(dash + 1);
        members.last = ParseNumber<std::int32_t>(last.substr(0, last.find(':'))).value_or(*first);
      }
      if (colon != std::string_view::npos) {
        members.stride =
            std::max(ParseNumber<std::int32_t>(range.substr(colon + 1)).value_or(1), 1);
      }
      members_.push_back(members);
    }
  }
}

std::optional<std::uint32_t> ClassMembers::PositionOf(std::int32_t job_rank) const {
  const auto found = std::ranges::find_if(members_, [job_rank](const Members& members) {
    return job_rank >= members.first && job_rank <= members.last &&
           (job_rank - members.first) % members.stride == 0;
  });
  return found == members_.end() ? std::nullopt : std::optional(found->position);
}

}  // namespace reprise

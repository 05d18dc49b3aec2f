#include "converters/pytorch/kineto/nothing_read.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "core/counted.h"
#include "core/shown_text.h"

namespace reprise::pytorch {
namespace {

constexpr std::size_t kShownNames = 6;

using Counts = std::vector<std::pair<std::string, std::uint64_t>>;

// "a" (12), "b" (3) and 4 more: the most frequent first.
std::string CountsText(Counts counts) {
  std::ranges::stable_sort(counts, std::greater<>(), &Counts::value_type::second);
  std::string text;
  for (std::size_t i = 0; i < std::min(counts.size(), kShownNames); ++i) {
    text += fmt::format("{}\"{}\" ({})", i == 0 ? "" : ", ", ShownText(counts[i].first),
                        counts[i].second);
  }
  return counts.size() <= kShownNames
             ? text
             : fmt::format("{} and {} more", text, counts.size() - kShownNames);
}

// The members of an object of counts.
Counts CountsIn(std::string_view raw) {
  Counts counts;
  simdjson::dom::parser parser;
  simdjson::dom::object members;
  if (raw.empty() || parser.parse(simdjson::padded_string(raw)).get(members) != simdjson::SUCCESS) {
    return counts;
  }
  for (const auto& member : members) {
    std::uint64_t count = 0;
    if (member.value.get(count) == simdjson::SUCCESS) {
      counts.emplace_back(member.key, count);
    }
  }
  return counts;
}

}  // namespace

EventCategories CategoriesOf(const std::vector<OtherEvent>& others) {
  EventCategories categories;
  for (const OtherEvent& other : others) {
    ++categories[*other.category];
  }
  return categories;
}

tl::unexpected<Error> NothingRead(const std::string& path, EventCategories categories,
                                  const SplitJson& json) {
  const std::uint64_t without = categories[""];
  categories.erase("");
  std::vector<std::string> holds;
  if (!categories.empty()) {
    holds.push_back("events of the categories " +
                    CountsText({categories.begin(), categories.end()}));
  }
  if (without > 0) {
    holds.push_back(Counted(without, "event") + " without a category");
  }
  if (const Counts tracks = CountsIn(json.Member("tracks")); !tracks.empty()) {
    holds.push_back("the tracks " + CountsText(tracks));
  }
  if (const Counts packets = CountsIn(json.Member("packets")); !packets.empty()) {
    holds.push_back("Perfetto's packets " + CountsText(packets));
  }
  return BadInput(fmt::format(
      "{}: holds no host operation (category cpu_op) and no work of a device "
      "(kernel, gpu_memcpy, …), which are what PyTorch's profiler writes. It holds "
      "{}. Was the profiler run with CPU activities, or is it another program's "
      "file?",
      path, holds.empty() ? std::string("no event") : fmt::format("{}", fmt::join(holds, "; "))));
}

}  // namespace reprise::pytorch

#include "converters/pytorch/host/process_groups.h"

#include <simdjson.h>

#include <charconv>

#include "converters/json_members.h"

namespace reprise::pytorch {

using simdjson::dom::element;

std::vector<GroupRecord> ParseGroupRecords(std::string_view json) {
  std::vector<GroupRecord> out;
  simdjson::dom::parser parser;
  simdjson::dom::array list;
  element root;
  // The text is copied by the parser: it may be a short string without padding.
  if (parser.parse(json.data(), json.size(), true).get(root) != simdjson::SUCCESS ||
      root.get(list) != simdjson::SUCCESS) {
    return out;
  }
  for (const element item : list) {
    GroupRecord group;
    group.name = TextOr(item["pg_name"]);
    group.description = TextOr(item["pg_desc"]);
    group.size = static_cast<std::int32_t>(
        GetOr(item["group_size"], GetOr(item["pg_size"], std::int64_t{-1})));
    simdjson::dom::array ranks;
    if (item["ranks"].get(ranks) == simdjson::SUCCESS) {
      group.all = ranks.size() == 0;
      for (const element rank : ranks) {
        std::int64_t value = 0;
        if (rank.get(value) == simdjson::SUCCESS) {
          group.ranks.push_back(static_cast<std::int32_t>(value));
        }
      }
    }
    out.push_back(std::move(group));
  }
  return out;
}

std::vector<std::int64_t> ParseIntegerList(std::string_view text, bool& cut) {
  std::vector<std::int64_t> out;
  if (text.find("...") != std::string_view::npos) {
    cut = true;
    return out;
  }
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    if (*at == '[' || *at == ' ' || *at == ',') {
      ++at;
      continue;
    }
    std::int64_t value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc()) {
      break;
    }
    out.push_back(value);
    at = next;
  }
  return out;
}

}  // namespace reprise::pytorch

#include "core/parse_json.h"

#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "core/shown_text.h"

namespace reprise {

template <typename Json>
Json ParseJson(std::string_view text, bool throws) {
  return Json::parse(text, nullptr, throws);
}
template nlohmann::json ParseJson(std::string_view text, bool throws);
template nlohmann::ordered_json ParseJson(std::string_view text, bool throws);

template <typename Json>
Json ParseJson(std::string_view text, std::string& twice) {
  std::vector<std::set<std::string>> open;  // keys of the objects around
  return Json::parse(text, [&](int /*depth*/, typename Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) {
      open.emplace_back();
    } else if (event == Json::parse_event_t::object_end) {
      open.pop_back();
    } else if (event == Json::parse_event_t::key &&
               !open.back().insert(parsed.template get<std::string>()).second) {
      twice = parsed.template get<std::string>();
    }
    return true;
  });
}
template nlohmann::ordered_json ParseJson(std::string_view text, std::string& twice);

std::string JsonProblem(std::string_view thrown) {
  for (const std::string_view before :
       {std::string_view("] "), std::string_view("parse error at ")}) {
    if (const std::size_t at = thrown.find(before); at != std::string_view::npos) {
      thrown.remove_prefix(at + before.size());
    }
  }
  return ShownText(std::string(thrown));
}

}  // namespace reprise

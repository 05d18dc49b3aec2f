#include "core/parse_json.h"

#include <nlohmann/json.hpp>

#include "core/shown_text.h"

namespace reprise {

template <typename Json>
Json ParseJson(std::string_view text, bool throws) {
  return Json::parse(text, nullptr, throws);
}
template nlohmann::json ParseJson(std::string_view text, bool throws);
template nlohmann::ordered_json ParseJson(std::string_view text, bool throws);

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

#include "predict/workload/job/json_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "core/nearest.h"

namespace reprise {

tl::unexpected<Error> Expected(std::string_view name, std::string_view what,
                               const WorkloadJson& got) {
  std::string text = got.dump(-1, ' ', false, WorkloadJson::error_handler_t::replace);
  if (text.size() > 60) {
    text = text.substr(0, 57) + "...";
  }
  return BadInput(fmt::format("\"{}\" is {}; expected {}", name, text, what));
}

WorkloadField Number(std::string_view name, std::int64_t& to) {
  return {name, [name, &to](const WorkloadJson& json) -> Status {
            const bool whole =
                json.is_number_integer() &&
                !(json.is_number_unsigned() &&
                  json.get<std::uint64_t>() >
                      static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
            if (!whole) {
              return Expected(name, "a whole number", json);
            }
            to = json.get<std::int64_t>();
            return {};
          }};
}

namespace {
template <typename Target>
WorkloadField FlagInto(std::string_view name, Target& to) {
  return {name, [name, &to](const WorkloadJson& json) -> Status {
            if (!json.is_boolean()) {
              return Expected(name, "true or false", json);
            }
            to = json.get<bool>();
            return {};
          }};
}
}  // namespace

WorkloadField Flag(std::string_view name, bool& to) { return FlagInto(name, to); }
WorkloadField Flag(std::string_view name, std::optional<bool>& to) { return FlagInto(name, to); }

WorkloadField Real(std::string_view name, double& to, double least, double most) {
  return {name, [name, &to, least, most](const WorkloadJson& json) -> Status {
            if (!json.is_number() || !(json.get<double>() >= least && json.get<double>() <= most)) {
              return Expected(name, fmt::format("a number from {} to {}", least, most), json);
            }
            to = json.get<double>();
            return {};
          }};
}

WorkloadField Numbers(std::string_view name, std::vector<std::int64_t>& to) {
  return {name, [name, &to](const WorkloadJson& json) -> Status {
            if (!json.is_array()) {
              return Expected(name, "a list of whole numbers", json);
            }
            to.clear();
            for (const WorkloadJson& item : json) {
              std::int64_t number = 0;
              REPRISE_TRY(Number(name, number).set(item));
              to.push_back(number);
            }
            return {};
          }};
}

WorkloadField Text(std::string_view name, std::function<Status(const std::string&)> set) {
  return {name, [name, set = std::move(set)](const WorkloadJson& json) -> Status {
            if (!json.is_string()) {
              return Expected(name, "a text", json);
            }
            return set(json.get<std::string>());
          }};
}

WorkloadField OneOf(std::string_view name, std::string& to, std::vector<std::string> names) {
  return Text(name, [name, &to, names = std::move(names)](const std::string& text) -> Status {
    if (std::find(names.begin(), names.end(), text) == names.end()) {
      return BadInput(fmt::format("\"{}\" is \"{}\"; expected {}{}", name, text,
                                  fmt::join(names, ", "), DidYouMean(text, names)));
    }
    to = text;
    return {};
  });
}

Status ReadFields(const WorkloadJson& json, std::string_view where,
                  const std::vector<WorkloadField>& fields) {
  if (!json.is_object()) {
    return BadInput(fmt::format("{} is no JSON object", where));
  }
  for (const auto& item : json.items()) {
    const std::string& name = item.key();
    const WorkloadJson& value = item.value();
    const auto field = std::find_if(fields.begin(), fields.end(),
                                    [&](const WorkloadField& f) { return f.name == name; });
    if (field == fields.end()) {
      std::vector<std::string> names;
      names.reserve(fields.size());
      for (const WorkloadField& known : fields) {
        names.emplace_back(known.name);
      }
      return BadInput(
          fmt::format("{} has no field \"{}\"{}", where, name, DidYouMean(name, names)));
    }
    REPRISE_TRY(field->set(value));
  }
  return {};
}

}  // namespace reprise

// Fields of a JSON object by name: their type is checked, unknown ones are refused with the
// nearest.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace reprise {

using WorkloadJson = nlohmann::json;

// `set` checks the value and stores it in the target given to the field's maker, which must outlive
// it.
struct WorkloadField {
  std::string_view name;
  std::function<Status(const WorkloadJson&)> set;
};

// "\"tp\" is 1.5; expected a whole number".
[[nodiscard]] tl::unexpected<Error> Expected(std::string_view name, std::string_view what,
                                             const WorkloadJson& got);

[[nodiscard]] WorkloadField Number(std::string_view name, std::int64_t& to);
[[nodiscard]] WorkloadField Numbers(std::string_view name, std::vector<std::int64_t>& to);
[[nodiscard]] WorkloadField Flag(std::string_view name, bool& to);
[[nodiscard]] WorkloadField Flag(std::string_view name, std::optional<bool>& to);
[[nodiscard]] WorkloadField Real(std::string_view name, double& to, double least, double most);
[[nodiscard]] WorkloadField Text(std::string_view name,
                                 std::function<Status(const std::string&)> set);
[[nodiscard]] WorkloadField OneOf(std::string_view name, std::string& to,
                                  std::vector<std::string> names);

// Bad input: no object, a field that `fields` lacks, or what a field refuses. `where` names the
// object in messages.
[[nodiscard]] Status ReadFields(const WorkloadJson& json, std::string_view where,
                                const std::vector<WorkloadField>& fields);

}  // namespace reprise

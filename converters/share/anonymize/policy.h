// What a shared trace may still say, field by field. The format: docs/policies.md.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/enum_names.h"
#include "core/result.h"
#include "et_schema/sharing.h"

namespace reprise {

enum class Action : std::uint8_t {
  kDrop,     // first: what a policy does not name
  kKeep,     // as it is
  kMap,      // another name or number for it, the same one wherever it occurs
  kCoarsen,  // less exact, or only its class
};
REPRISE_NAMES(Action, "drop", "keep", "map", "coarsen");
inline constexpr std::size_t kActionCount = kNamesOf<Action>.size();

[[nodiscard]] std::string_view Name(Field field);

// How numbers of one sort (times in ns, dimensions in elements) are made less exact.
struct Rounding {
  enum class Kind : std::uint8_t {
    kKeep,
    kGrid,   // to a multiple of `grid`
    kScale,  // times a secret factor from the salt
  } kind = Kind::kKeep;
  std::int64_t grid = 1;
  bool operator==(const Rounding&) const = default;
};
// "keep", "grid:1000", "scale". Usage error otherwise.
[[nodiscard]] Result<Rounding> ParseRounding(std::string_view text);
[[nodiscard]] std::string Name(const Rounding& rounding);

struct Policy {
  std::string name;
  std::string description;
  std::string sha256;  // of the file
  std::array<Action, kFieldCount> actions{};
  Rounding durations, shapes;

  [[nodiscard]] Action Of(Field field) const { return actions[static_cast<std::size_t>(field)]; }

  // A preset's name or a file. Bad input: no JSON, a field that does not exist, an action that the
  // field does not have, a field missing without which a trace is none.
  static Result<Policy> Load(const std::string& name_or_path);
  // `origin` begins messages.
  static Result<Policy> Parse(const std::string& text, const std::string& origin);
};

[[nodiscard]] std::vector<std::string> PolicyPresets();  // "replay" first
// A preset as a file of its own would have it; usage error, naming them, if there is none of that
// name.
[[nodiscard]] Result<std::string> PolicyText(std::string_view preset);

}  // namespace reprise

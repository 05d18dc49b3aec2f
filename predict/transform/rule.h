// Rules of "what if": which nodes, and what becomes of them (docs/guides/transform.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/comm.h"
#include "core/dtype.h"
#include "core/enum_names.h"
#include "core/operators.h"
#include "core/result.h"
#include "et_schema/node.h"

namespace reprise {

enum class RuleAction : std::uint8_t {
  kScale,      // the recorded time, times a factor
  kTime,       // another time in its place
  kDelay,      // starts later than what it waits for
  kRemove,     // what waited for it waits for what it waited for
  kResize,     // a transfer's bytes, by a factor or as a number
  kDtype,      // a transfer's type; as many elements
  kBucket,     // neighbouring all-reduces of a group become one
  kStream,     // runs on another stream
  kSerialise,  // the nodes of the rule run one after the other
  kAlone,      // no other operation of the rank runs beside one of the rule
};
REPRISE_NAMES(RuleAction, "scale", "time", "delay", "remove", "resize", "dtype", "bucket", "stream",
              "serialise", "alone");

// 3-7 and 3- (which has no end), as rules name ranks and steps.
struct NumberRange {
  std::int64_t first = 0, last = 0;
  bool operator==(const NumberRange&) const = default;
};

// What must hold of a node; what is empty holds of every node.
struct RuleCondition {
  // With * and ?. Names are of the node, or of the operation that launched it.
  std::string name, module, group, shape;
  std::string range;  // NAME or NAME:K, as `simulate --range` takes it
  std::vector<OpClass> classes;
  std::vector<CommKind> kinds;
  std::optional<std::int64_t> stream, device;
  std::optional<std::int64_t> thread;
  std::vector<NumberRange> ranks, steps;
};

struct Rule {
  std::string text;  // as given
  RuleCondition condition;
  RuleAction action = RuleAction::kScale;
  double factor = 1;        // kScale; kResize: 0 where `number` are bytes
  std::int64_t number = 0;  // kTime, kDelay: nanoseconds; kResize, kBucket: bytes
  DType dtype = DType::kUnknown;
  std::int64_t stream = 0;
  std::int32_t device = 0;

  // Edges or transfers change, not times alone.
  [[nodiscard]] bool ChangesStructure() const { return action > RuleAction::kDelay; }
};

// "class=attention => scale 0.5". Usage error: anything else, with what is possible; `origin`
// begins the message.
[[nodiscard]] Result<Rule> ParseRule(const std::string& text, const std::string& origin);
// A rule a line, with # before remarks. Bad input names file and line.
[[nodiscard]] Result<std::vector<Rule>> ReadRules(const std::string& path);

[[nodiscard]] bool MatchesPattern(std::string_view pattern, std::string_view text);
// An empty list holds every number.
[[nodiscard]] bool HoldsNumber(const std::vector<NumberRange>& ranges, std::int64_t number);

}  // namespace reprise

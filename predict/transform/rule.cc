#include "predict/transform/rule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <utility>

#include "core/bytes.h"
#include "core/input_file.h"
#include "core/nanoseconds.h"
#include "core/nearest.h"
#include "core/shown_text.h"
#include "core/text.h"

namespace reprise {
namespace {

constexpr std::string_view kArrow = "=>";

// Words between blanks; what stands in double quotes is one, without them. Nothing: a quote has no
// end.
std::optional<std::vector<std::string>> WordsOf(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool quoted = false;
  bool begun = false;
  for (const char c : text) {
    if (c == '"') {
      quoted = !quoted;
      begun = true;
    } else if (!quoted && (c == ' ' || c == '\t')) {
      if (begun) {
        words.push_back(std::exchange(word, {}));
      }
      begun = false;
    } else {
      word += c;
      begun = true;
    }
  }
  if (begun) {
    words.push_back(word);
  }
  return quoted ? std::nullopt : std::optional(words);
}

// "120us", "1.5ms", "0.2s", "800ns".
std::optional<std::int64_t> ParseTimeNs(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 4> kUnits = {
      {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}};
  for (const auto& [unit, ns] : kUnits) {
    if (!text.ends_with(unit)) {
      continue;
    }
    if (const auto number = ParseNumber<double>(text.substr(0, text.size() - unit.size()))) {
      const std::int64_t value_ns = NsOf(*number * ns);
      return *number >= 0 && value_ns <= kLongestNs ? std::optional(value_ns) : std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<double> ParseFactor(std::string_view text) {
  constexpr double kLargest = 1e6;
  const auto factor = ParseNumber<double>(text);
  return factor && *factor >= 0 && *factor <= kLargest ? factor : std::nullopt;
}

// "0-3,7,12-".
std::optional<std::vector<NumberRange>> ParseRanges(std::string_view text) {
  std::vector<NumberRange> ranges;
  for (const std::string_view part : SplitText(text, ',')) {
    const std::size_t dash = part.find('-');
    const auto first = ParseNumber<std::int64_t>(part.substr(0, dash));
    std::optional<std::int64_t> last = first;
    if (dash != std::string_view::npos) {
      last = dash + 1 == part.size() ? INT64_MAX : ParseNumber<std::int64_t>(part.substr(dash + 1));
    }
    if (!first || *first < 0 || !last || *last < *first) {
      return std::nullopt;
    }
    ranges.push_back({*first, *last});
  }
  return ranges;
}

template <typename Enum>
bool ParseNames(std::string_view text, std::vector<Enum>& out) {
  for (const std::string_view name : SplitText(text, ',')) {
    const auto value = ParseName<Enum>(name);
    if (!value) {
      return false;
    }
    out.push_back(*value);
  }
  return true;
}

// "0/7", or "7" of any device.
bool ParseStream(std::string_view text, RuleCondition& condition) {
  const std::size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    condition.device = ParseNumber<std::int32_t>(text.substr(0, slash));
    text.remove_prefix(slash + 1);
    if (!condition.device) {
      return false;
    }
  }
  condition.stream = ParseNumber<std::int64_t>(text);
  return condition.stream.has_value();
}

bool SetRanges(std::string_view text, std::vector<NumberRange>& out) {
  const auto ranges = ParseRanges(text);
  out = ranges.value_or(std::vector<NumberRange>());
  return ranges.has_value();
}

struct ConditionKey {
  std::string_view name, expected;
  std::function<bool(const std::string& value, RuleCondition& condition)> parse;
};

std::function<bool(const std::string&, RuleCondition&)> AsPattern(
    std::string RuleCondition::*member) {
  return [member](const std::string& value, RuleCondition& condition) {
    condition.*member = value;
    return !value.empty();
  };
}

const std::vector<ConditionKey>& ConditionKeys() {
  static const std::vector<ConditionKey> keys = {
      {"name", "a name, with * and ?", AsPattern(&RuleCondition::name)},
      {"class", "classes of operators (docs/definitions.md), as in gemm,attention",
       [](const std::string& value, RuleCondition& condition) {
         return ParseNames(value, condition.classes);
       }},
      {"kind", "kinds of transfers, as in all_reduce,all_gather",
       [](const std::string& value, RuleCondition& condition) {
         return ParseNames(value, condition.kinds);
       }},
      {"group", "a process group's role, description or id, with * and ?",
       AsPattern(&RuleCondition::group)},
      {"module", "a path of modules, with * and ?", AsPattern(&RuleCondition::module)},
      {"range", "the name of a range, or NAME:K", AsPattern(&RuleCondition::range)},
      {"shape", "inputs' shapes as reports have them, as in \"[64,128] [128,*\"",
       AsPattern(&RuleCondition::shape)},
      {"stream", "a stream, as in 7 or 0/7", ParseStream},
      {"thread", "a host thread's number",
       [](const std::string& value, RuleCondition& condition) {
         condition.thread = ParseNumber<std::int64_t>(value);
         return condition.thread.has_value();
       }},
      {"rank", "ranks, as in 0-3,7 or 4-",
       [](const std::string& value, RuleCondition& condition) {
         return SetRanges(value, condition.ranks);
       }},
      {"step", "steps, counted from 0, as in 3-",
       [](const std::string& value, RuleCondition& condition) {
         return SetRanges(value, condition.steps);
       }},
  };
  return keys;
}

class RuleParser {
 public:
  RuleParser(const std::string& text, const std::string& origin) : text_(text), origin_(origin) {}

  Result<Rule> Parse() {
    rule_.text = text_;
    const auto words = WordsOf(text_);
    if (!words) {
      return Fail("a double quote has no end");
    }
    const auto arrow = std::ranges::find(*words, kArrow);
    if (arrow == words->end()) {
      return Fail("expected CONDITIONS => ACTION, as in \"class=attention => scale 0.5\"");
    }
    for (auto word = words->begin(); word != arrow; ++word) {
      REPRISE_TRY(AddCondition(*word));
    }
    const std::vector<std::string> action(arrow + 1, words->end());
    const auto known = action.empty() ? std::nullopt : ParseName<RuleAction>(action.front());
    if (!known) {
      return Fail(fmt::format("expected one of the actions {}{}",
                              fmt::join(kNamesOf<RuleAction>, ", "),
                              action.empty() ? "" : DidYouMean<RuleAction>(action.front())));
    }
    rule_.action = *known;
    const bool alone = rule_.action == RuleAction::kRemove ||
                       rule_.action == RuleAction::kSerialise || rule_.action == RuleAction::kAlone;
    if (action.size() != (alone ? 1 : 2)) {
      return Fail(fmt::format("{} takes {}", action.front(), alone ? "nothing more" : Expected()));
    }
    if (!alone && !SetArgument(action.back())) {
      return Fail(fmt::format("{} takes {}", action.front(), Expected()));
    }
    return std::move(rule_);
  }

 private:
  [[nodiscard]] tl::unexpected<Error> Fail(const std::string& why) const {
    return UsageError(
        fmt::format("{}\"{}\": {} (docs/guides/transform.md)", origin_, ShownText(text_), why));
  }

  Status AddCondition(const std::string& word) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const auto key = std::ranges::find(ConditionKeys(), name, &ConditionKey::name);
    if (equals == std::string::npos || key == ConditionKeys().end()) {
      std::vector<std::string> names;
      for (const ConditionKey& known : ConditionKeys()) {
        names.emplace_back(known.name);
      }
      return Fail(fmt::format("\"{}\" is no condition; expected NAME=VALUE with {}{}",
                              ShownText(word), fmt::join(names, ", "), DidYouMean(name, names)));
    }
    if (std::ranges::find(given_, name) != given_.end()) {
      return Fail(fmt::format("{}= comes twice", name));
    }
    given_.push_back(name);
    return key->parse(word.substr(equals + 1), rule_.condition)
               ? Status{}
               : Fail(fmt::format("{}= expects {}", name, key->expected));
  }

  [[nodiscard]] std::string_view Expected() const {
    switch (rule_.action) {
      case RuleAction::kScale:
        return "a factor, as in \"scale 0.5\"";
      case RuleAction::kTime:
      case RuleAction::kDelay:
        return "a time, as in \"time 120us\" (ns, us, ms or s)";
      case RuleAction::kResize:
        return "a factor or bytes, as in \"resize 0.5\" or \"resize 64MiB\"";
      case RuleAction::kBucket:
        return "bytes, as in \"bucket 25MiB\"";
      case RuleAction::kDtype:
        return "a type, as in \"dtype bfloat16\"";
      default:
        return "a stream, as in \"stream 0/7\" (device and stream)";
    }
  }

  bool SetBytes(const std::string& text) {
    rule_.number = ParseBytes(text).value_or(0);
    return rule_.number > 0;
  }

  bool SetArgument(const std::string& text) {
    switch (rule_.action) {
      case RuleAction::kScale: {
        const auto factor = ParseFactor(text);
        rule_.factor = factor.value_or(1);
        return factor.has_value();
      }
      case RuleAction::kTime:
      case RuleAction::kDelay: {
        const auto ns = ParseTimeNs(text);
        rule_.number = ns.value_or(0);
        return ns.has_value();
      }
      case RuleAction::kResize: {  // digits alone, or with a point, are a factor
        const auto factor = ParseFactor(text);
        rule_.factor = factor.value_or(0);
        return factor ? *factor > 0 : SetBytes(text);
      }
      case RuleAction::kBucket:
        return SetBytes(text);
      case RuleAction::kDtype:
        rule_.dtype = ParseDType(text);
        return rule_.dtype != DType::kUnknown;
      default: {
        RuleCondition place;
        const bool parsed = ParseStream(text, place) && place.device;
        rule_.stream = place.stream.value_or(0);
        rule_.device = static_cast<std::int32_t>(place.device.value_or(0));
        return parsed;
      }
    }
  }

  const std::string& text_;
  const std::string& origin_;
  std::vector<std::string> given_;
  Rule rule_;
};

}  // namespace

Result<Rule> ParseRule(const std::string& text, const std::string& origin) {
  return RuleParser(text, origin).Parse();
}

Result<std::vector<Rule>> ReadRules(const std::string& path) {
  constexpr std::uint64_t kMostBytes = 1 << 20;
  REPRISE_ASSIGN(const std::string content, ReadText(path, kMostBytes));
  std::vector<Rule> rules;
  int line_number = 0;
  for (std::string_view line : SplitText(content, '\n')) {
    ++line_number;
    line = line.substr(0, line.find_last_not_of(" \t\r") + 1);
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (line.empty() || line.starts_with('#')) {
      continue;
    }
    Result<Rule> rule = ParseRule(std::string(line), fmt::format("{}:{}: ", path, line_number));
    if (!rule) {
      return BadInput(std::move(rule.error().message));
    }
    rules.push_back(std::move(*rule));
  }
  if (rules.empty()) {
    return BadInput(
        fmt::format("{}: no rule in it; expected one a line, as in \"class=attention "
                    "=> scale 0.5\"",
                    path));
  }
  return rules;
}

bool MatchesPattern(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;  // the last one; it took the text up to `taken`
  std::size_t taken = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++taken;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') {
    ++p;
  }
  return p == pattern.size();
}

bool HoldsNumber(const std::vector<NumberRange>& ranges, std::int64_t number) {
  return ranges.empty() || std::ranges::any_of(ranges, [number](const NumberRange& range) {
           return number >= range.first && number <= range.last;
         });
}

}  // namespace reprise

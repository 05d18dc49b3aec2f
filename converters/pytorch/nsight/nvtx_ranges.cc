#include "converters/pytorch/nsight/nvtx_ranges.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <vector>

#include "core/text.h"

namespace reprise::pytorch {
namespace {

constexpr std::string_view kDecimalDigits = "0123456789";

// The whole number behind `key`; nothing: there is none.
std::optional<std::int64_t> NumberBehind(std::string_view key, std::string_view text) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view rest = text.substr(at + key.size());
  return ParseNumber<std::int64_t>(rest.substr(0, rest.find(',')));
}

// "MulBackward0", as autograd calls its functions.
bool IsBackwardFunction(std::string_view name) {
  const std::size_t last = name.find_last_not_of(kDecimalDigits);
  return last != std::string_view::npos && name.substr(0, last + 1).ends_with("Backward") &&
         name.find(' ') == std::string_view::npos;
}

}  // namespace

bool IsNvtxRange(std::int64_t event_type) {
  // ENUM_NSYS_EVENT_TYPE: NvtxPushPopRange, NvtxStartEndRange, and the same of imported texts.
  constexpr std::array<std::int64_t, 4> kRanges = {59, 60, 70, 71};
  return std::ranges::find(kRanges, event_type) != kRanges.end();
}

NvtxRange ParseNvtxRange(std::string_view text) {
  NvtxRange out{.name = text};
  for (const std::string_view key : {", seq = ", ", op_id = ", ", sizes = ["}) {
    out.name = out.name.substr(0, out.name.find(key));
  }
  if (out.name.empty() || out.name.size() == text.size()) {
    return {.name = text};
  }
  constexpr std::string_view kEvaluate = "autograd::engine::evaluate_function: ";
  const std::string_view values = text.substr(out.name.size());
  out.sequence = NumberBehind(", seq = ", values);
  out.is_backward =
      out.sequence && (out.name.starts_with(kEvaluate) || IsBackwardFunction(out.name));
  out.is_operator = out.name.find("::") != std::string_view::npos || IsBackwardFunction(out.name);
  return out;
}

std::optional<StepText> ParseStepText(std::string_view text) {
  constexpr std::string_view kBetween = " _:#=-";
  constexpr std::size_t kLongest = 64;
  if (text.size() > kLongest) {
    return std::nullopt;
  }
  const std::size_t last = text.find_last_not_of(kDecimalDigits);
  if (last == std::string_view::npos) {
    return std::nullopt;
  }
  StepText out;
  out.number = ParseNumber<std::int64_t>(text.substr(last + 1));
  std::string_view stem = text.substr(0, last + 1);
  stem = stem.substr(0, stem.find_last_not_of(kBetween) + 1);
  out.stem = LowerCase(stem);
  std::ranges::replace(out.stem, ' ', '_');
  std::ranges::replace(out.stem, '-', '_');
  std::string_view word = out.stem;
  for (const std::string_view prefix : {"train_", "training_", "global_"}) {
    if (word.starts_with(prefix)) {
      word.remove_prefix(prefix.size());
      break;
    }
  }
  const bool counts = word == "step" || word == "iter" || word == "iteration";
  return counts ? std::optional(std::move(out)) : std::nullopt;
}

// Sorts them. Nothing: they overlap. Else their time.
std::optional<std::int64_t> StepFinder::TimeOf(std::vector<Span>& spans) {
  std::ranges::sort(spans, {}, &Span::start_ns);
  std::int64_t total_ns = 0;
  std::int64_t end_ns = INT64_MIN;
  for (const Span& span : spans) {
    if (span.start_ns < end_ns) {
      return std::nullopt;
    }
    end_ns = span.end_ns;
    total_ns += span.end_ns - span.start_ns;
  }
  return total_ns;
}

void StepFinder::Add(std::string_view text, std::int64_t thread, std::int64_t start_ns,
                     std::int64_t end_ns) {
  has_profiler_steps_ = has_profiler_steps_ || text.starts_with("ProfilerStep#");
  if (auto step = ParseStepText(text)) {
    candidates_[{thread, std::move(step->stem)}].push_back(
        {.start_ns = start_ns, .end_ns = end_ns, .number = step->number});
  }
}

FoundSteps StepFinder::Find() {
  FoundSteps out;
  if (has_profiler_steps_) {
    return out;
  }
  std::int64_t most_ns = 0;
  for (auto& [of, spans] : candidates_) {
    const auto time_ns = TimeOf(spans);
    if (!time_ns || *time_ns <= most_ns) {
      continue;
    }
    most_ns = *time_ns;
    std::tie(out.thread, out.stem) = of;
    out.steps.clear();
    for (const Span& span : spans) {
      out.steps.push_back({.start_ns = span.start_ns,
                           .end_ns = span.end_ns,
                           .number = span.number.value_or(std::ssize(out.steps))});
    }
  }
  return out;
}

std::optional<std::int64_t> StepRanges::NumberOf(std::string_view text, std::int64_t thread,
                                                 std::int64_t start_ns) const {
  if (numbers_.empty() || thread != thread_) {
    return std::nullopt;
  }
  const auto step = ParseStepText(text);
  const auto found = numbers_.find(start_ns);
  return step && step->stem == stem_ && found != numbers_.end() ? std::optional(found->second)
                                                                : std::nullopt;
}

Result<StepRanges> FindStepRanges(NsightTables& tables, const std::string& threads) {
  StepRanges out;
  std::string condition = threads.empty() ? "" : threads + " AND ";
  condition +=
      "(text LIKE '%step%' OR text LIKE '%iter%' OR textId IN (SELECT id FROM StringIds WHERE "
      "value LIKE '%step%' OR value LIKE '%iter%'))";
  const bool whole = tables.HasColumn("NVTX_EVENTS", "text") &&
                     tables.HasColumn("NVTX_EVENTS", "textId") &&
                     tables.HasColumn("NVTX_EVENTS", "globalTid");
  REPRISE_ASSIGN(
      Statement rows,
      tables.Select("NVTX_EVENTS", {"start", "end", "globalTid", "eventType", "text", "textId"},
                    whole ? condition : "0"));
  StepFinder finder;
  for (;;) {
    REPRISE_ASSIGN(const bool more, rows.Next());
    if (!more) {
      break;
    }
    std::string_view text = rows.View(4);
    if (text.empty()) {
      REPRISE_ASSIGN(text, tables.Text(rows.Int(5)));
    }
    if (IsNvtxRange(rows.Int(3)) && rows.StoredType(1) == StoredAs::kInteger) {
      finder.Add(text, rows.Int(2), rows.Int(0), rows.Int(1));
    }
  }
  const FoundSteps found = finder.Find();
  out.stem_ = found.stem;
  out.thread_ = found.thread;
  for (const FoundStep& step : found.steps) {
    out.numbers_[step.start_ns] = step.number;
  }
  return out;
}

}  // namespace reprise::pytorch

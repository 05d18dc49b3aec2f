// A comparison in a sentence.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "report/compare/rows.h"
#include "report/text/part_meaning.h"
#include "report/text/table.h"

namespace reprise {
namespace {

// A part of the difference that is less than this share of it is not worth a word.
constexpr double kSharePartNamed = 0.1;
constexpr std::size_t kMaxParts = 3;

const ComparedRow* FindRow(const Comparison& comparison, const std::string& name) {
  const auto found = std::ranges::find(comparison.rows, name, &ComparedRow::name);
  return found == comparison.rows.end() ? nullptr : &*found;
}

std::string RatioInterval(const Ratio& ratio) {
  if (!ratio.low) {
    return {};
  }
  const int digits = *ratio.high - *ratio.low < 0.02 ? 3 : 2;
  return fmt::format(" ({:.{}f}–{:.{}f})", *ratio.low, digits, *ratio.high, digits);
}

constexpr double kTwice = 2;

// "12 % less time", "25 % more energy".
std::string Change(double ratio, const char* of) {
  const double percent = 100 * std::abs(ratio - 1);
  constexpr double kTenth = 9.95;  // below, a digit behind the point says more
  return fmt::format("{:.{}f} % {} {}", percent, percent < kTenth ? 1 : 0,
                     ratio < 1 ? "less" : "more", of);
}

// Nobody repeats a run more often.
constexpr std::size_t kMostRepeats = 100;

// What a narrower interval takes, of these two cells' runs or iterations.
std::string RepeatsNeeded(const ComparedCell& cell, const ComparedCell& base) {
  if (cell.runs_needed && *cell.runs_needed <= kMostRepeats) {
    return fmt::format("{} repeats of each would show ±3 %", *cell.runs_needed);
  }
  if (cell.quantity->repeats < 2 || base.quantity->repeats < 2) {  // no spread is known
    return "several repeats of each would show ±3 %";
  }
  const auto range = [](const ComparedCell& of) {
    return fmt::format("{} to {}", DurationText(std::llround(of.quantity->least * 1e9)),
                       DurationText(std::llround(of.quantity->most * 1e9)));
  };
  return fmt::format("times vary too much for ±3 %: {}, {}", range(base), range(cell));
}

// Single runs differ by chance, by an unknown amount: no claim.
std::string NoClaim(const std::vector<ComparedSide>& sides, std::size_t position,
                    const ComparedCell& cell, const ComparedCell& base_cell) {
  const ComparedSide& side = sides[position];
  const ComparedSide& base = sides.front();
  const std::string who = side.runs.size() == 1 && base.runs.size() == 1
                              ? fmt::format("{} and {}, one run each", side.label, base.label)
                              : fmt::format("{} and {}, one run of {}", side.label, base.label,
                                            side.runs.size() == 1 ? side.label : base.label);
  return fmt::format("{}: no claim; {} (medians differ by {:+.1f} %)", who,
                     RepeatsNeeded(cell, base_cell), 100 * (cell.ratio->value - 1));
}

std::string TimeText(const std::string& label, const std::string& base, const ComparedCell& cell) {
  const Ratio& ratio = *cell.ratio;
  const std::string modelled = cell.modelled ? "modelled: " : "";
  if (ratio.low && !ratio.Differs()) {
    return fmt::format("{}no difference in time shown between {} and {}: {:.3g}{}", modelled, label,
                       base, ratio.value, RatioInterval(ratio));
  }
  if (ratio.value == 1) {
    return fmt::format("{}{} takes the same time as {}", modelled, label, base);
  }
  const std::string takes = ratio.value >= kTwice
                                ? fmt::format("{:.3g} times as long as {}", ratio.value, base)
                                : fmt::format("{} than {}", Change(ratio.value, "time"), base);
  return fmt::format("{}{} takes {}{}", modelled, label, takes, RatioInterval(ratio));
}

// Where the interval is wide.
std::string RepeatsText(const ComparedCell& cell, const ComparedCell& base) {
  constexpr double kNarrow = 1.03;
  const Ratio& ratio = *cell.ratio;
  const bool wide = ratio.low && *ratio.high > kNarrow * ratio.value;
  return wide ? "; " + RepeatsNeeded(cell, base) : std::string();
}

std::string EnergyChange(double ratio) {
  return ratio >= kTwice ? fmt::format("{:.3g} times the energy", ratio) : Change(ratio, "energy");
}

std::string EnergyText(const Comparison& comparison, std::size_t position) {
  const ComparedRow* row = FindRow(comparison, "energy");
  if (row == nullptr || !row->cells[position].ratio) {
    return {};
  }
  const ComparedCell& cell = row->cells[position];
  const char* modelled = cell.modelled ? " (modelled)" : "";
  if (!cell.ratio->low) {
    return cell.modelled ? fmt::format(", {}{}", EnergyChange(cell.ratio->value), modelled)
                         : std::string();
  }
  return cell.ratio->Differs()
             ? fmt::format(", {}{}{}", EnergyChange(cell.ratio->value), RatioInterval(*cell.ratio),
                           modelled)
             : fmt::format(", no difference in energy{}{}", RatioInterval(*cell.ratio), modelled);
}

// Of a prediction beside a replay: the error of the step, and those of the classes that take most
// time. No claim on how replays spread.
std::string PredictionText(const std::vector<ComparedSide>& sides, const Comparison& comparison,
                           std::size_t position, const ComparedCell& time) {
  const bool first = !time.modelled;  // the prediction is the first side
  const auto error = [first](const Ratio& ratio) {
    return PercentChangeText((first ? 1 / ratio.value : ratio.value) - 1);
  };
  const std::string& predicted = sides[first ? 0 : position].label;
  const std::string& measured = sides[first ? position : 0].label;
  std::vector<const ComparedRow*> classes;
  for (const ComparedRow& row : comparison.rows) {
    const ComparedCell& cell = row.cells[position];
    if (row.group == "class" && cell.ratio && cell.ratio->value > 0) {
      classes.push_back(&row);
    }
  }
  const std::size_t of = first ? position : 0;
  std::ranges::stable_sort(classes, std::greater{},
                           [of](const ComparedRow* row) { return row->cells[of].quantity->value; });
  std::string text = fmt::format("{} is modelled: its step is {} against {}", predicted,
                                 error(*time.ratio), measured);
  constexpr std::size_t kMaxClasses = 5;
  for (std::size_t i = 0; i < std::min(classes.size(), kMaxClasses); ++i) {
    text += fmt::format("{} {} {}", i == 0 ? "; by class:" : ",", classes[i]->label,
                        error(*classes[i]->cells[position].ratio));
  }
  return text;
}

// "above all aten::bmm [8,64,64] [8,64,64] +12.5 ms (28x)"; empty: no calls are.
std::string CallsText(const DifferenceParts& difference) {
  if (!difference.above_all) {
    return {};
  }
  const DifferenceParts::Calls& calls = *difference.above_all;
  constexpr std::size_t kNameWidth = 40, kShapeWidth = 50;
  const std::string change = SignedDurationText(std::llround(calls.seconds * 1e9));
  return fmt::format("; above all {}{}{} {}{}", Fit(calls.name, kNameWidth),
                     calls.shape.empty() ? "" : " ", Fit(calls.shape, kShapeWidth), change,
                     calls.ratio ? fmt::format(" ({:.3g}x)", *calls.ratio) : "");
}

// The parts that point the way the whole does; together they may be more than the whole.
std::string PartsText(const DifferenceParts& difference) {
  std::string text;
  double named_shares = 0;
  std::size_t named = 0;
  for (const DifferenceParts::Part& part : difference.parts) {
    const double share = part.seconds / difference.seconds;
    if (share >= kSharePartNamed && named < kMaxParts) {
      std::string name = part.name;
      std::ranges::replace(name, '_', ' ');
      const std::string_view meaning = PartMeaning(part.name);
      text += fmt::format("{}{:.0f} %{} {}{}", named == 0 ? "" : ", ", 100 * share,
                          named == 0 ? " of the difference is" : "", name,
                          meaning.empty() ? "" : fmt::format(" ({})", meaning));
      named_shares += share;
      ++named;
    }
  }
  if (text.empty()) {
    return text;
  }
  constexpr double kRounding = 0.005;
  return "; " + text + (difference.on_critical_path ? "" : " (busy time)") +
         (named_shares > 1 + kRounding ? "; other parts differ the other way" : "") +
         CallsText(difference);
}

}  // namespace

std::string VerdictText(const std::vector<ComparedSide>& sides, const Comparison& comparison,
                        std::size_t position) {
  const std::string& label = sides[position].label;
  const ComparedRow* time = FindRow(comparison, "time");
  if (time == nullptr || !time->cells[position].ratio) {
    const std::string energy = EnergyText(comparison, position);
    return fmt::format("{}: no ratio of times{}{}", label,
                       time == nullptr || time->note.empty() ? "" : " (" + time->note + ")",
                       energy);
  }
  const ComparedCell& cell = time->cells[position];
  const bool simulated = cell.modelled && time->cells.front().modelled;  // the same in every run
  if (cell.modelled != time->cells.front().modelled) {
    return PredictionText(sides, comparison, position, cell);
  }
  if (!cell.ratio->low && !simulated) {
    return NoClaim(sides, position, cell, time->cells.front());
  }
  std::string text = TimeText(label, sides.front().label, cell) + EnergyText(comparison, position) +
                     RepeatsText(cell, time->cells.front());
  const auto& difference = comparison.differences[position - 1];
  // Where no difference is shown, nothing needs a cause; and runs near the medians that differ the
  // other way than the medians do explain nothing.
  const bool shown = !cell.ratio->low || cell.ratio->Differs();
  if (shown && difference && difference->seconds * (cell.ratio->value - 1) > 0) {
    text += PartsText(*difference);
  }
  return text;
}

}  // namespace reprise

#include "report/compare/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/table.h"

namespace reprise {
namespace {

// A part of the difference that is less than this share of it is not worth a word.
constexpr double kSharePartNamed = 0.1;
constexpr std::size_t kMostParts = 3;

const ComparedRow* FindRow(const Comparison& comparison, const std::string& name) {
  const auto found = std::find_if(comparison.rows.begin(), comparison.rows.end(),
                                  [&name](const ComparedRow& row) { return row.name == name; });
  return found == comparison.rows.end() ? nullptr : &*found;
}

std::string RatioInterval(const Ratio& ratio) {
  return ratio.low ? fmt::format(" ({:.3g} to {:.3g})", *ratio.low, *ratio.high)
                   : std::string(" (no interval: one value)");
}

std::string TimeText(const std::string& label, const std::string& base, const ComparedCell& cell) {
  const Ratio& ratio = *cell.ratio;
  const std::string modelled = cell.modelled ? "modelled: " : "";
  if (ratio.low && !ratio.Differs()) {
    return fmt::format("{}no difference in time shown between {} and {}: {:.3g}x{}", modelled,
                       label, base, ratio.value, RatioInterval(ratio));
  }
  if (ratio.value > 1) {
    return fmt::format("{}{} is {:.3g}x slower than {}{}", modelled, label, ratio.value, base,
                       RatioInterval(ratio));
  }
  Ratio speed{.value = 1 / ratio.value};
  if (ratio.low) {
    speed.low = 1 / *ratio.high;
    speed.high = 1 / *ratio.low;
  }
  return fmt::format("{}{} is {:.3g}x faster than {}{}", modelled, label, speed.value, base,
                     RatioInterval(speed));
}

std::string EnergyText(const Comparison& comparison, std::size_t position) {
  const ComparedRow* row = FindRow(comparison, "energy");
  if (row == nullptr || !row->cells[position].ratio) {
    return {};
  }
  const ComparedCell& cell = row->cells[position];
  return fmt::format(", at {:.3g}x the energy{}{}", cell.ratio->value, RatioInterval(*cell.ratio),
                     cell.modelled ? " (modelled)" : "");
}

// The parts that point the way the whole does.
std::string PartsText(const DifferenceParts& difference) {
  std::string text;
  std::size_t named = 0;
  for (const DifferenceParts::Part& part : difference.parts) {
    const double share = part.seconds / difference.seconds;
    if (share >= kSharePartNamed && named < kMostParts) {
      text += fmt::format("{}{:.0f} %{} {}", named == 0 ? "" : ", ", 100 * share,
                          named == 0 ? " of the difference is" : "", part.name);
      ++named;
    }
  }
  return text.empty() ? "" : "; " + text + (difference.on_critical_path ? "" : " (busy time)");
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
  std::string text = TimeText(label, sides.front().label, cell) + EnergyText(comparison, position);
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

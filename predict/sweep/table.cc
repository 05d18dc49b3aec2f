#include "predict/sweep/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "core/counted.h"
#include "core/shown_text.h"
#include "report/text/table.h"
#include "report/text/verdict_warnings.h"

namespace reprise {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr std::size_t kShownRows = 20;
constexpr std::int64_t kShownOfModel = 5;
constexpr std::size_t kShownTooLarge = 5;

template <typename Number>
double NumberOf(const std::optional<Number>& number) {
  return number ? static_cast<double>(*number) : kNever;
}

// Tokens of a step, or samples.
double AmountOf(const SweepRow& row) {
  return row.tokens.value_or(0) > 0 ? NumberOf(row.tokens) : NumberOf(row.samples);
}
double TimeOf(const SweepRow& row) { return NumberOf(row.step_time_ns) / AmountOf(row); }
double EnergyOf(const SweepRow& row) {
  return row.energy_joules ? *row.energy_joules / AmountOf(row) : kNever;
}
double MemoryOf(const SweepRow& row) { return NumberOf(row.peak_bytes); }

double MeasureOf(const SweepTable& table, const SweepRow& row) {
  return !row.possible               ? kNever
         : !row.Fits()               ? MemoryOf(row)
         : table.rank_by == "energy" ? EnergyOf(row)
         : table.rank_by == "memory" ? MemoryOf(row)
                                     : TimeOf(row);
}

bool SameAmounts(const std::vector<SweepRow>& rows) {
  std::set<double> amounts;
  for (const SweepRow& row : rows) {
    if (row.possible && row.step_time_ns) {
      amounts.insert(AmountOf(row));
    }
  }
  return amounts.size() < 2;
}

// Rows that fit, by time: each that has less of the other than all before it is on the front.
void MarkFront(const SweepTable& table, std::vector<SweepRow*>& rows) {
  const auto other = [&table](const SweepRow* row) {
    return table.energy ? EnergyOf(*row) : MemoryOf(*row);
  };
  std::erase_if(rows, [](const SweepRow* row) { return !row->Fits(); });
  std::ranges::stable_sort(
      rows, {}, [&other](const SweepRow* row) { return std::pair(TimeOf(*row), other(row)); });
  double least = kNever;
  double time = -1;
  for (SweepRow* const row : rows) {
    const bool equal = other(row) == least && TimeOf(*row) == time;
    if (other(row) < least || equal) {
      row->pareto = true;
      least = other(row);
      time = TimeOf(*row);
    }
  }
}

// Of the rows that fit the first ones, of each model.
std::vector<const SweepRow*> BestRows(const SweepTable& table) {
  std::vector<const SweepRow*> best;
  for (const SweepRow& row : table.rows) {
    if (row.Fits() &&
        (table.several_models ? *row.rank <= kShownOfModel : best.size() < kShownRows)) {
      best.push_back(&row);
    }
  }
  return best;
}

std::string NumberText(const std::optional<double>& number, double factor, int digits) {
  return number ? fmt::format("{:.{}f}", *number * factor, digits) : "-";
}

// GiB; negative: what is lacking.
std::string LeftText(const SweepRow& row) {
  const auto left = row.LeftBytes();
  return left ? GibibytesText(static_cast<double>(*left)) : "-";
}

// What does not fit, by how much.
std::string TooLargeText(const SweepTable& table, std::size_t count) {
  std::string text;
  std::size_t shown = 0;
  for (const SweepRow& row : table.rows) {
    if (row.possible && !row.Fits() && shown < kShownTooLarge) {
      text += fmt::format("  {} GiB: {}\n", LeftText(row),
                          ShownText(ConfigurationText(table.keys, row.values)));
      ++shown;
    }
  }
  return count == 0 ? ""
                    : fmt::format("\nWhat does not fit, and how much it lacks:\n{}{}", text,
                                  count > shown ? fmt::format("  … {} more\n", count - shown) : "");
}

}  // namespace

Status RankRows(SweepTable& table) {
  std::vector<SweepRow>& rows = table.rows;
  table.energy =
      std::ranges::any_of(rows, [](const SweepRow& row) { return row.energy_joules.has_value(); });
  table.tokens =
      std::ranges::any_of(rows, [](const SweepRow& row) { return row.tokens.value_or(0) > 0; });
  table.same_batch = SameAmounts(rows);
  const bool timed =
      std::ranges::any_of(rows, [](const SweepRow& row) { return row.step_time_ns.has_value(); });
  if (table.rank_by == "energy" && !table.energy && timed) {
    return UsageError(
        "--rank-by energy: the machine says nothing of power, so that no configuration has an "
        "energy");
  }
  std::map<std::string, std::size_t> order;  // of models, by their first rows
  for (const SweepRow& row : rows) {
    order.emplace(table.several_models ? row.model : "", order.size());
  }
  const auto model = [&](const SweepRow& row) {
    return order.at(table.several_models ? row.model : "");
  };
  std::ranges::stable_sort(rows, {}, [&](const SweepRow& row) {
    return std::tuple(model(row), !row.possible, !row.Fits(), MeasureOf(table, row));
  });
  std::vector<std::vector<SweepRow*>> of_model(order.size());
  for (SweepRow& row : rows) {
    std::vector<SweepRow*>& before = of_model[model(row)];
    before.push_back(&row);
    row.rank = row.Fits() ? std::optional(static_cast<std::int64_t>(before.size())) : std::nullopt;
    row.pareto = false;
  }
  for (std::vector<SweepRow*>& of_one : of_model) {
    MarkFront(table, of_one);
  }
  return {};
}

double ShownSeconds(const SweepTable& table, const SweepRow& row) {
  return table.same_batch ? NumberOf(row.step_time_ns) / 1e9 : TimeOf(row) * 1e6 / 1e9;
}

std::string SecondsLabel(const SweepTable& table) {
  return table.same_batch ? "step, s"
         : table.tokens   ? "s for a million tokens"
                          : "s for a million samples";
}

SweepCounts CountRows(const SweepTable& table) {
  SweepCounts counts;
  for (const SweepRow& row : table.rows) {
    (!row.possible ? counts.cannot_be : row.Fits() ? counts.fit : counts.do_not_fit) += 1;
    counts.not_simulated += row.possible && !row.step_time_ns ? 1 : 0;
  }
  return counts;
}

std::vector<std::string> SweepWarnings(const SweepTable& table) {
  double most = 0;
  std::set<std::string> types;
  for (const SweepRow& row : table.rows) {
    most = std::max(most, row.default_share.value_or(0));
    if (!row.without_rate.empty()) {
      types.insert(row.without_rate);
    }
  }
  std::map<std::string, std::string> options = {{"default_share", fmt::format("{:.4f}", most)}};
  if (!types.empty()) {
    options["without_rate"] = fmt::format("{}", fmt::join(types, ", "));
  }
  return PredictionWarnings(options);
}

std::string SweepText(const SweepTable& table) {
  std::string text = fmt::format("{}, {}, ranked by {}\n", ShownText(table.title),
                                 Counted(table.rows.size(), "configuration"), table.rank_by);
  for (const std::string& warning : SweepWarnings(table)) {
    text += fmt::format("  ! {}\n", warning);
  }
  text += "  ! Every time is modelled: nothing was executed.\n";
  const SweepCounts counts = CountRows(table);
  text +=
      fmt::format("{} fit in memory, {} do not{}, {} cannot be\n\n", counts.fit, counts.do_not_fit,
                  counts.not_simulated > 0
                      ? fmt::format(" ({} of them estimated, not simulated)", counts.not_simulated)
                      : "",
                  counts.cannot_be);
  std::vector<std::vector<std::string>> cells = {{"rank"}};
  for (const SweepKey& key : table.keys) {
    cells[0].push_back(key.name);
  }
  cells[0].insert(cells[0].end(), {SecondsLabel(table), "peak, GiB", "left"});
  if (table.energy) {
    cells[0].emplace_back("energy, kJ");
  }
  const bool power = table.energy && table.several_models;
  if (power) {
    cells[0].insert(cells[0].end(), {"tokens/J", "mean, W", "peak, W", "max, C", "throttled"});
  } else if (table.energy) {
    cells[0].emplace_back("mean, W");
  }
  cells[0].insert(cells[0].end(), {"MFU", "front"});
  const std::vector<const SweepRow*> best = BestRows(table);
  for (const SweepRow* const row : best) {
    std::vector<std::string> line = {std::to_string(*row->rank)};
    for (const std::string& value : row->values) {
      line.push_back(ShownText(value));
    }
    line.push_back(fmt::format("{:.4g}", ShownSeconds(table, *row)));
    line.push_back(GibibytesText(MemoryOf(*row)));
    line.push_back(LeftText(*row));
    if (table.energy) {
      line.push_back(fmt::format("{:.4g}", NumberOf(row->energy_joules) / 1e3));
    }
    if (power) {
      line.push_back(NumberText(row->tokens_per_joule, 1, 3));
      line.push_back(NumberText(row->mean_watts, 1, 0));
      line.push_back(NumberText(row->peak_watts, 1, 0));
      line.push_back(NumberText(row->max_celsius, 1, 1));
      line.push_back(NumberText(row->throttled_share, 100, 1) + " %");
    } else if (table.energy) {
      line.push_back(NumberText(row->mean_watts, 1, 0));
    }
    line.push_back(row->mfu ? NumberText(row->mfu, 100, 1) + " %" : "-");
    line.emplace_back(row->pareto ? "*" : "");
    cells.push_back(std::move(line));
  }
  // Columns as wide as their widest cell.
  std::vector<std::size_t> width(cells[0].size());
  for (const auto& line : cells) {
    for (std::size_t c = 0; c < line.size(); ++c) {
      width[c] = std::max(width[c], line[c].size());
    }
  }
  for (const auto& line : cells) {
    for (std::size_t c = 0; c < line.size(); ++c) {
      text += fmt::format("{}{:>{}}", c > 0 ? "  " : "", line[c], width[c]);
    }
    text += "\n";
  }
  if (counts.fit > best.size()) {
    text += fmt::format("… {} more\n", counts.fit - best.size());
  }
  return text + TooLargeText(table, counts.do_not_fit);
}

}  // namespace reprise

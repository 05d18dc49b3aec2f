#include "report/compare/present.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "report/table.h"

namespace reprise {
namespace {

constexpr std::size_t kMostTransfers = 16;
constexpr std::size_t kLongestName = 34;
// Parts smaller than this share of their whole are counted instead of shown; JSON has all.
constexpr double kTelling = 0.005;
constexpr double kLittle = 0.001;  // likewise, of the first side's step

std::vector<std::string> Header(const std::string& first, const std::vector<ComparedSide>& sides,
                                const std::vector<std::size_t>& positions) {
  std::vector<std::string> header = {first};
  for (const std::size_t s : positions) {
    header.push_back(Fit(sides[s].label, 22));
    if (s > 0) {
      header.emplace_back("ratio");
    }
  }
  return header;
}

// Whether it is next to nothing of its group on every side.
bool IsSmall(const ComparedRow& row, const Comparison& comparison) {
  for (std::size_t s = 0; s < row.cells.size(); ++s) {
    double whole = 0;
    for (const ComparedRow& other : comparison.rows) {
      if (other.group == row.group && other.cells[s].quantity) {
        whole += other.cells[s].quantity->value;
      }
    }
    if (row.cells[s].quantity && row.cells[s].quantity->value >= kTelling * whole) {
      return false;
    }
  }
  return true;
}

PresentedTable RowTable(const std::string& group, const char* title, const char* more,
                        const std::vector<ComparedSide>& sides, const Comparison& comparison,
                        const std::vector<std::size_t>& positions) {
  PresentedTable table{
      .title = title,
      .more = more,
      .header = Header(group == "summary" ? "quantity" : group.substr(0, group.find(' ')), sides,
                       positions),
      .rows = {}};
  std::size_t small = 0;
  for (const ComparedRow& row : comparison.rows) {
    if (row.group != group) {
      continue;
    }
    if (group != "summary" && IsSmall(row, comparison)) {
      ++small;
      continue;
    }
    std::vector<std::string> cells = {Fit(row.label, kLongestName)};
    for (const std::size_t s : positions) {
      const ComparedCell& cell = row.cells[s];
      cells.push_back(
          ValueText(row.unit, cell.quantity ? std::optional(cell.quantity->value) : std::nullopt) +
          (cell.modelled ? " m" : ""));
      if (s > 0) {
        cells.push_back(RelationText(row.unit, cell));
      }
    }
    table.rows.push_back(std::move(cells));
  }
  if (small > 0) {
    table.rows.push_back({fmt::format(".. and {} of less than {:.1f} %", small, 100 * kTelling)});
  }
  return table;
}

PresentedTable TransferTable(const std::vector<ComparedSide>& sides, const Comparison& comparison,
                             const std::vector<std::size_t>& positions) {
  PresentedTable table{.title = "Transfers",
                       .more = "median time of one, from the last arrival; those that take longest",
                       .header = Header("transfer", sides, positions),
                       .rows = {}};
  for (const ComparedTransfer& row : comparison.transfers) {
    if (table.rows.size() == kMostTransfers) {
      break;
    }
    std::vector<std::string> cells = {
        fmt::format("{} {}, {} ranks", row.name, BytesText(row.bytes), row.group_size)};
    for (const std::size_t s : positions) {
      const auto& cell = row.cells[s];
      cells.push_back(
          ValueText("seconds", cell ? std::optional(cell->seconds.value) : std::nullopt));
      if (s > 0) {
        cells.push_back(cell ? RatioText(cell->ratio) : "");
      }
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

PresentedTable PartTable(const std::vector<ComparedSide>& sides, const Comparison& comparison,
                         std::size_t position) {
  PresentedTable table{
      .title = fmt::format("{} against {}", sides[position].label, sides.front().label),
      .more = {},
      .header = {"part", "difference", fmt::format("of {}", sides.front().label)},
      .rows = {}};
  const auto& difference = comparison.differences[position - 1];
  if (!difference) {
    return table;
  }
  table.more = difference->on_critical_path ? "what moved the end of one pass"
                                            : "time of all ranks' operations in one pass";
  const auto share = [&difference](double seconds) {
    return difference->base_seconds > 0
               ? fmt::format("{:+.1f} %", 100 * seconds / difference->base_seconds)
               : std::string("-");
  };
  std::size_t small = 0;
  for (const DifferenceParts::Part& part : difference->parts) {
    if (std::abs(part.seconds) < kLittle * difference->base_seconds) {
      ++small;
      continue;
    }
    table.rows.push_back({part.name, ValueText("seconds", part.seconds), share(part.seconds)});
  }
  if (small > 0) {
    table.rows.push_back({fmt::format(".. and {} of less than {:.1f} %", small, 100 * kLittle)});
  }
  table.rows.push_back(
      {"all", ValueText("seconds", difference->seconds), share(difference->seconds)});
  return table;
}

PresentedTable SettingTable(const std::vector<ComparedSide>& sides, const Comparison& comparison,
                            const std::vector<std::size_t>& positions) {
  PresentedTable table{
      .title = "Settings that differ", .more = {}, .header = {"setting"}, .rows = {}};
  for (const std::size_t s : positions) {
    table.header.push_back(Fit(sides[s].label, 22));
  }
  for (const Setting& setting : comparison.settings) {
    std::vector<std::string> cells = {setting.name};
    for (const std::size_t s : positions) {
      cells.push_back(setting.values[s].empty() ? "-" : Fit(setting.values[s], kLongestName));
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

}  // namespace

std::string ValueText(const std::string& unit, std::optional<double> value) {
  if (!value || !std::isfinite(*value)) {
    return "-";
  }
  if (unit == "seconds") {
    return DurationText(static_cast<std::int64_t>(std::llround(*value * 1e9)));
  }
  if (unit == "fraction") {
    return fmt::format("{:.1f} %", 100 * *value);
  }
  if (unit == "hertz") {
    return fmt::format("{:.0f} MHz", *value * 1e-6);
  }
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kUnits = {
      {{"joules", " J"}, {"watts", " W"}, {"celsius", " C"}, {"1/s", "/s"}, {"1/J", "/J"}}};
  const auto* const found = std::find_if(kUnits.begin(), kUnits.end(),
                                         [&unit](const auto& of) { return of.first == unit; });
  const std::string suffix =
      found == kUnits.end() ? (unit.empty() ? "" : " " + unit) : std::string(found->second);
  // Energy of one operation is small: three digits, wherever they begin.
  return (std::abs(*value) < 1 ? fmt::format("{:.3g}", *value) : NumberText(value)) + suffix;
}

std::string RatioText(const std::optional<Ratio>& ratio) {
  if (!ratio) {
    return "";
  }
  return ratio->low
             ? fmt::format("{:.3g}x ({:.3g}-{:.3g})", ratio->value, *ratio->low, *ratio->high)
             : fmt::format("{:.3g}x", ratio->value);
}

std::string RelationText(const std::string& unit, const ComparedCell& cell) {
  if (!cell.difference) {
    return RatioText(cell.ratio);
  }
  const std::string text = unit == "fraction" ? fmt::format("{:.1f} points", 100 * *cell.difference)
                                              : ValueText(unit, *cell.difference);
  return *cell.difference >= 0 ? "+" + text : text;
}

std::string HowMeasured(const Comparison& comparison) {
  const std::string repeats =
      comparison.repeats_are_runs
          ? "Medians over runs, each the median of its iterations; in brackets the 95 % interval "
            "of a ratio, from run to run."
          : "Medians over the iterations of each side; in brackets the 95 % interval of a ratio, "
            "from iteration to iteration: how one run differs from the next is not in it (give "
            "several runs a side: A=RUN,RUN,RUN).";
  const auto modelled = [](const ComparedCell& cell) { return cell.modelled; };
  const bool any =
      std::any_of(comparison.rows.begin(), comparison.rows.end(), [&](const ComparedRow& row) {
        return std::any_of(row.cells.begin(), row.cells.end(), modelled);
      });
  return repeats + (any ? " m: modelled, not measured." : "");
}

std::vector<PresentedTable> PresentTables(const std::vector<ComparedSide>& sides,
                                          const Comparison& comparison,
                                          const std::vector<std::size_t>& positions) {
  const auto rows = [&](const char* group, const char* title, const char* more) {
    return RowTable(group, title, more, sides, comparison, positions);
  };
  std::vector<PresentedTable> tables = {rows("summary", "Summary", "")};
  for (const std::size_t s : positions) {
    if (s > 0) {
      tables.push_back(PartTable(sides, comparison, s));
    }
  }
  tables.push_back(rows("class", "Time by class", "one pass, all ranks"));
  tables.push_back(rows("phase", "Time by phase", "one pass, all ranks"));
  tables.push_back(rows("collective", "Time in collectives", "one pass, all members"));
  tables.push_back(rows("class energy", "Energy by class", "of a step"));
  tables.push_back(rows("phase energy", "Energy by phase", "of a step"));
  tables.push_back(TransferTable(sides, comparison, positions));
  tables.push_back(SettingTable(sides, comparison, positions));
  std::erase_if(tables, [](const PresentedTable& table) { return table.rows.empty(); });
  return tables;
}

}  // namespace reprise

#include "report/compare/present.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "report/text/part_meaning.h"

namespace reprise {
namespace {

constexpr std::size_t kMaxTransferRows = 16;
// Parts smaller than this share of their whole are counted instead of shown; JSON has all.
constexpr double kShareRowShown = 0.005;
constexpr double kLittle = 0.001;  // likewise, of the first side's step

// Whether it is next to nothing of its group on every side.
bool IsSmall(const ComparedRow& row, const Comparison& comparison) {
  for (std::size_t s = 0; s < row.cells.size(); ++s) {
    double whole = 0;
    for (const ComparedRow& other : comparison.rows) {
      if (other.group == row.group && other.cells[s].quantity) {
        whole += other.cells[s].quantity->value;
      }
    }
    if (row.cells[s].quantity && row.cells[s].quantity->value >= kShareRowShown * whole) {
      return false;
    }
  }
  return true;
}

class Presenter {
 public:
  Presenter(const std::vector<ComparedSide>& sides, const Comparison& comparison,
            const std::vector<std::size_t>& positions, Room room)
      : sides_(sides),
        comparison_(comparison),
        positions_(positions),
        line_(room == Room::kLine),
        tight_(line_ && positions.size() > 2) {}

  [[nodiscard]] std::vector<PresentedTable> Tables() const {
    std::vector<PresentedTable> tables = {Rows("summary", "Summary", "")};
    for (const std::size_t s : positions_) {
      if (s > 0 && comparison_.differences[s - 1]) {
        tables.push_back(Parts(s, *comparison_.differences[s - 1]));
      }
    }
    tables.push_back(Settings());
    tables.push_back(Rows("class", "Time by class", "all steps and ranks of the trace"));
    tables.push_back(Rows("phase", "Time by phase", "all steps and ranks of the trace"));
    tables.push_back(
        Rows("collective", "Time in collectives", "all steps and members of the trace"));
    tables.push_back(Rows("class energy", "Energy by class", "of a step"));
    tables.push_back(Rows("phase energy", "Energy by phase", "of a step"));
    tables.push_back(Transfers());
    std::erase_if(tables, [](const PresentedTable& table) { return table.table.Empty(); });
    return tables;
  }

 private:
  [[nodiscard]] PresentedTable Rows(const std::string& group, const char* title,
                                    const char* more) const {
    Table table(Header(group == "summary" ? "quantity" : group.substr(0, group.find(' '))));
    std::size_t small = 0;
    for (const ComparedRow& row : comparison_.rows) {
      if (row.group != group) {
        continue;
      }
      if (group != "summary" && IsSmall(row, comparison_)) {
        ++small;
        continue;
      }
      std::vector<std::string> cells = {Name(row.label)};
      for (const std::size_t s : positions_) {
        const ComparedCell& cell = row.cells[s];
        const auto value = cell.quantity ? std::optional(cell.quantity->value) : std::nullopt;
        cells.push_back(ValueText(row.unit, value) + (cell.modelled ? " m" : ""));
        if (s > 0) {
          cells.push_back(Relation(row.unit, cell));
        }
      }
      table.Add(cells);
    }
    AddSmall(small, kShareRowShown, table);
    return {title, more, std::move(table)};
  }

  [[nodiscard]] PresentedTable Parts(std::size_t position,
                                     const DifferenceParts& difference) const {
    Table table({"part", "difference", fmt::format("of {}", Label(0))});
    const auto add = [&](const std::string& name, double seconds) {
      table.Add({name, ValueText("seconds", seconds),
                 difference.base_seconds > 0
                     ? fmt::format("{:+.1f} %", 100 * seconds / difference.base_seconds)
                     : std::string("-")},
                std::string(PartMeaning(name)));
    };
    std::size_t small = 0;
    for (const DifferenceParts::Part& part : difference.parts) {
      if (std::abs(part.seconds) < kLittle * difference.base_seconds) {
        ++small;
      } else {
        add(part.name, part.seconds);
      }
    }
    AddSmall(small, kLittle, table);
    add("all", difference.seconds);
    return {fmt::format("{} against {}", Label(position), Label(0)),
            difference.on_critical_path ? "what moved the end of the trace"
                                        : "time of all ranks' operations in the trace",
            std::move(table)};
  }

  [[nodiscard]] PresentedTable Transfers() const {
    Table table(Header("transfer"));
    for (const ComparedTransfer& row : comparison_.transfers) {
      if (table.Rows() == kMaxTransferRows) {
        table.Add({fmt::format(".. and {} more", comparison_.transfers.size() - kMaxTransferRows)});
        break;
      }
      std::vector<std::string> cells = {
          Name(fmt::format("{} {}, {} ranks", row.name, BytesText(row.bytes), row.group_size))};
      for (const std::size_t s : positions_) {
        const auto& cell = row.cells[s];
        cells.push_back(
            ValueText("seconds", cell ? std::optional(cell->seconds.value) : std::nullopt));
        if (s > 0) {
          cells.push_back(cell ? RatioText(cell->ratio) : "");
        }
      }
      table.Add(cells);
    }
    return {"Transfers", "median time of one, from the last arrival; those that take longest",
            std::move(table)};
  }

  [[nodiscard]] PresentedTable Settings() const {
    std::vector<std::string> header = {"setting"};
    for (const std::size_t s : positions_) {
      header.push_back(Label(s));
    }
    Table table(header);
    for (const Setting& setting : comparison_.settings) {
      std::vector<std::string> cells = {Name(setting.name)};
      for (const std::size_t s : positions_) {
        const std::string& value = setting.values[s];
        cells.push_back(value.empty() ? "-" : line_ ? Fit(value, tight_ ? 20 : 32) : value);
      }
      table.Add(cells);
    }
    return {"Settings that differ", "", std::move(table)};
  }

  [[nodiscard]] std::vector<std::string> Header(const std::string& first) const {
    std::vector<std::string> header = {first};
    for (const std::size_t s : positions_) {
      header.push_back(Label(s));
      if (s > 0) {
        header.emplace_back("ratio");
      }
    }
    return header;
  }

  static void AddSmall(std::size_t small, double limit, Table& table) {
    if (small > 0) {
      table.Add({fmt::format(".. and {} of less than {:.1f} %", small, 100 * limit)});
    }
  }

  [[nodiscard]] std::string Label(std::size_t side) const {
    const std::string& label = sides_[side].label;
    return line_ ? Fit(label, tight_ ? 12 : 18) : label;
  }

  [[nodiscard]] std::string Name(const std::string& name) const {
    return line_ ? Fit(name, 30) : name;
  }

  [[nodiscard]] std::string RatioText(const std::optional<Ratio>& ratio) const {
    if (!ratio) {
      return "";
    }
    if (!ratio->low) {
      return fmt::format("{:.3g}x", ratio->value);
    }
    return tight_ ? fmt::format("{}{:.3g}x", ratio->Differs() ? "" : "~", ratio->value)
                  : fmt::format("{:.3g}x ({:.3g}–{:.3g})", ratio->value, *ratio->low, *ratio->high);
  }

  [[nodiscard]] std::string Relation(const std::string& unit, const ComparedCell& cell) const {
    if (!cell.difference) {
      return RatioText(cell.ratio);
    }
    return unit == "fraction"
               ? fmt::format("{:+.1f} pt", 100 * *cell.difference)
               : (*cell.difference < 0 ? "" : "+") + ValueText(unit, cell.difference);
  }

  const std::vector<ComparedSide>& sides_;
  const Comparison& comparison_;
  const std::vector<std::size_t>& positions_;
  bool line_;   // on lines of 100 columns
  bool tight_;  // without intervals
};

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
  const auto* const found =
      std::ranges::find_if(kUnits, [&unit](const auto& of) { return of.first == unit; });
  const std::string suffix =
      found == kUnits.end() ? (unit.empty() ? "" : " " + unit) : std::string(found->second);
  // Energy of one operation is small: three digits, wherever they begin.
  return (std::abs(*value) < 1 ? fmt::format("{:.3g}", *value) : NumberText(value)) + suffix;
}

std::string HowMeasured(const Comparison& comparison) {
  const std::string repeats =
      comparison.recorded
          ? (comparison.repeats_are_runs
                 ? "Medians over recordings; in brackets the 95 % interval of a ratio, from "
                   "recording to recording."
                 : "Values of one recording a side. How one differs from the next is not known, so "
                   "ratios have no interval; give several of each side: A=SET,SET,SET.")
      : comparison.repeats_are_runs
          ? "Medians over runs, each the median of its iterations; in brackets the 95 % interval "
            "of a ratio, from run to run."
          : "Medians over iterations. How one run differs from the next is not known, so ratios "
            "have no interval; give several runs of each side: A=RUN,RUN,RUN.";
  const bool any = std::ranges::any_of(comparison.rows, [&](const ComparedRow& row) {
    return std::ranges::any_of(row.cells, &ComparedCell::modelled);
  });
  return repeats + (any ? " m: modelled, not measured." : "");
}

std::vector<PresentedTable> PresentTables(const std::vector<ComparedSide>& sides,
                                          const Comparison& comparison,
                                          const std::vector<std::size_t>& positions, Room room) {
  return Presenter(sides, comparison, positions, room).Tables();
}

}  // namespace reprise

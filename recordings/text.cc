#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "recordings/show.h"
#include "report/table.h"

namespace reprise {
namespace {

constexpr std::size_t kNameWidth = 34;
constexpr std::size_t kShapeWidth = 30;
constexpr std::size_t kLabelWidth = 14;

std::string RatioCell(std::int64_t a, std::int64_t b) {
  return a > 0 && b > 0
             ? fmt::format("{:.2f}x", static_cast<double>(b) / static_cast<double>(a))
             : std::string("-");
}

std::string TimeCell(const OperationSum& sum) {
  return sum.count == 0 ? std::string("-") : DurationText(sum.ns);
}

// "12", "12 of 40": those without a counterpart.
std::string AloneCell(const OperationSum& a, const OperationSum& b) {
  if (a.alone_count + b.alone_count == 0) {
    return "";
  }
  return fmt::format("{}/{}", a.alone_count, b.alone_count);
}

std::string Columns(const AlignedRow& row, Table& table, std::string name) {
  table.Add({std::move(name), std::to_string(std::max(row.a.count, row.b.count)), TimeCell(row.a),
             TimeCell(row.b), RatioCell(row.a.ns, row.b.ns),
             SignedDurationText(row.difference_ns()), AloneCell(row.a, row.b)});
  return {};
}

// Tables that are cut to what a screen holds.
class DifferenceText {
 public:
  DifferenceText(const RecordedJob& a, const RecordedJob& b, const RecordingDifference& of,
                 const Style& style, bool full)
      : a_(a), b_(b), of_(of), style_(style), full_(full) {}

  std::string Text(std::size_t lines) {
    text_ = style_.bold + Wrap(of_.verdict + ".", kConsoleWidth, 2) + style_.reset;
    Aligned();
    for (const std::string& note : of_.notes) {
      text_ += Wrap("note: " + note, kConsoleWidth, 6);
    }
    Passed();
    Rows("Time by class", "sums of ranks and steps", of_.classes, 8, false);
    if (full_ || Lines() + 6 < lines) {
      Rows("Operations that differ most", "", of_.operations, lines - std::min(lines, Lines() + 5),
           false);
    }
    if (full_) {
      Rows("Shapes that differ most", "", of_.shapes, 40, true);
      Rows("Phases", "", of_.phases, 8, false);
      CriticalPaths();
    } else if (left_out_) {
      text_ += "-v shows more, with shapes, phases and critical path; --json has all\n";
    }
    return text_;
  }

 private:
  [[nodiscard]] std::size_t Lines() const {
    return static_cast<std::size_t>(std::count(text_.begin(), text_.end(), '\n'));
  }
  [[nodiscard]] std::vector<std::string> Header(const char* first) const {
    return {first, "count", Fit(a_.label, kLabelWidth), Fit(b_.label, kLabelWidth), "ratio",
            "difference", "alone"};
  }

  void Aligned() {
    const char* what = of_.totals_a.on_device && of_.totals_b.on_device
                           ? "operations that launch device work"
                           : "operations";
    std::string by;
    constexpr std::array<const char*, kAlignedBys> kWords = {
        "", "with other shapes", "at another place", "by name alone", "by class alone"};
    for (std::size_t i = 1; i < kAlignedBys; ++i) {
      if (of_.aligned_by[i] > 0) {
        by += fmt::format(", {} {}", of_.aligned_by[i], kWords[i]);
      }
    }
    text_ += Wrap(fmt::format("aligned: {} of {} and {} of {} {} ({:.1f} % of time and {:.1f} %){}",
                              of_.a.aligned, of_.a.operations, of_.b.aligned, of_.b.operations,
                              what, Percent(of_.a), Percent(of_.b), by),
                  kConsoleWidth, 2);
  }
  static double Percent(const AlignedShare& share) {
    return share.ns > 0
               ? 100 * static_cast<double>(share.aligned_ns) / static_cast<double>(share.ns)
               : 0;
  }

  void Passed() {
    Table table({"", Fit(a_.label, kLabelWidth), Fit(b_.label, kLabelWidth), "ratio"});
    const auto add = [&table](const char* name, std::int64_t a, std::int64_t b) {
      if (a != 0 || b != 0) {
        table.Add({name, DurationText(a), DurationText(b), RatioCell(a, b)});
      }
    };
    const SideTotals& a = of_.totals_a;
    const SideTotals& b = of_.totals_b;
    const bool device = a.on_device || b.on_device;
    add("step", a.step_ns, b.step_ns);
    add("device work", a.device_ns, b.device_ns);
    add(device ? "device busy" : "operations", a.activity.busy_ns, b.activity.busy_ns);
    add("waiting for launches", a.activity.launch_wait_ns, b.activity.launch_wait_ns);
    add("from launch to start", a.activity.latency_ns, b.activity.latency_ns);
    add(device ? "other idle time" : "between operations", a.activity.other_idle_ns,
        b.activity.other_idle_ns);
    add("transfers", a.activity.transfers_ns, b.activity.transfers_ns);
    add("exposed transfers", a.activity.exposed_ns, b.activity.exposed_ns);
    add("waiting for ranks", a.activity.waited_ns, b.activity.waited_ns);
    text_ += Heading(style_, "Where the time goes", DevicesNote()) + table.Text();
  }

  [[nodiscard]] std::string DevicesNote() const {
    const auto name = [](const SideTotals& of) {
      return of.device.empty() ? std::string("unknown device") : of.device;
    };
    return of_.totals_a.on_device || of_.totals_b.on_device
               ? Fit(name(of_.totals_a), 32) + " and " + Fit(name(of_.totals_b), 32)
               : std::string();
  }

  void Rows(const char* title, const char* more, const std::vector<AlignedRow>& rows,
            std::size_t most, bool shapes) {
    const std::size_t shown = full_ ? rows.size() : std::min(rows.size(), most);
    left_out_ = left_out_ || shown < rows.size();
    if (shown == 0) {
      return;
    }
    Table table(Header(shapes ? "operation, shapes" : "name"));
    for (std::size_t i = 0; i < shown; ++i) {
      const AlignedRow& row = rows[i];
      Columns(row, table,
              shapes ? Fit(row.name, 24) + " " + Fit(row.shape, kShapeWidth)
                     : Fit(row.name, kNameWidth));
    }
    text_ += Heading(style_, title, more) + table.Text();
  }

  void CriticalPaths() {
    std::vector<std::string> names;
    for (const auto* recording : {&a_, &b_}) {
      for (const PathPart& part : recording->critical_path) {
        if (std::find(names.begin(), names.end(), part.name) == names.end()) {
          names.push_back(part.name);
        }
      }
    }
    const auto find = [](const RecordedJob& of, const std::string& name) {
      for (const PathPart& part : of.critical_path) {
        if (part.name == name) {
          return part.ns;
        }
      }
      return std::int64_t{0};
    };
    if (names.empty()) {
      return;
    }
    Table table({"class", Fit(a_.label, kLabelWidth), Fit(b_.label, kLabelWidth), "ratio"});
    for (const std::string& name : names) {
      const std::int64_t a = find(a_, name);
      const std::int64_t b = find(b_, name);
      table.Add({name, DurationText(a), DurationText(b), RatioCell(a, b)});
    }
    text_ += Heading(style_, "Critical path", "the chain that the end follows from") + table.Text();
  }

  const RecordedJob& a_;
  const RecordedJob& b_;
  const RecordingDifference& of_;
  const Style& style_;
  const bool full_;
  bool left_out_ = false;
  std::string text_;
};

}  // namespace

std::string RecordingsText(const ComparedRecordings& compared, bool colour, bool full) {
  const Style style = MakeStyle(colour);
  std::string text;
  const std::size_t each = kRecordingLines / std::max<std::size_t>(compared.differences.size(), 1);
  for (std::size_t s = 0; s < compared.differences.size(); ++s) {
    text += s == 0 ? "" : "\n";
    text += DifferenceText(compared.recordings[0], compared.recordings[s + 1],
                           compared.differences[s], style, full)
                .Text(each);
  }
  return text;
}

}  // namespace reprise

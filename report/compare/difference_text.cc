#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "report/compare/compare.h"
#include "report/compare/present.h"
#include "report/compare/rows.h"
#include "report/operations/inference.h"
#include "report/text/table.h"

namespace reprise {
namespace {

constexpr std::size_t kNameWidth = 30;
constexpr std::size_t kShapeWidth = 28;
constexpr std::size_t kLabelWidth = 14;
constexpr std::size_t kShortLabelWidth = 9;

// Rows of a table on a page of Markdown: a review's, which --json completes.
constexpr std::size_t kMarkdownRows = 30;

const char* IsOrAre(std::int64_t count) { return count == 1 ? "is" : "are"; }

std::string RatioCell(std::int64_t a, std::int64_t b) {
  const auto ratio = RatioOf(a, b);
  return ratio ? fmt::format("{:.2f}x", *ratio) : "-";
}

// "12/40": those without a counterpart, on each side.
std::string AloneCell(const OperationSum& a, const OperationSum& b) {
  if (a.alone_count + b.alone_count == 0) {
    return "";
  }
  return fmt::format("{}/{}", a.alone_count, b.alone_count);
}

// Tables that are cut to what a screen holds.
class DifferenceText {
 public:
  DifferenceText(const ComparedRun& a, const ComparedRun& b, std::vector<std::string> notes,
                 const Style& style, bool full)
      : a_(*a.operations),
        b_(*b.operations),
        path_a_(CriticalPathOf(a.report)),
        path_b_(CriticalPathOf(b.report)),
        of_(*b.difference),
        notes_(std::move(notes)),
        style_(style),
        full_(full) {}

  // At most `lines`, unless all is wanted. `brief`: one of several.
  std::string Text(std::size_t lines, bool brief) {
    lines_ = lines;
    text_ = style_.markdown
                ? fmt::format("- **{}.**\n", MarkdownText(of_.verdict))
                : style_.bold + Wrap(of_.verdict + ".", kConsoleWidth, 2) + style_.reset;
    Aligned();
    notes_.insert(notes_.end(), of_.notes.begin(), of_.notes.end());
    const std::size_t notes = full_ ? notes_.size() : std::min<std::size_t>(notes_.size(), 2);
    for (std::size_t i = 0; i < notes; ++i) {
      text_ += Message(style_, "note: " + notes_[i], 6);
    }
    left_out_ = notes < notes_.size();
    if (!brief || full_) {
      Passed();
      Weights(a_);
      Weights(b_);
    }
    Rows("Time by class",
         "one step on a rank, the mean; counts are of all; alone: only on one side", of_.classes,
         of_.shares.empty() ? 8 : 6);
    Shares();
    Rows("Operations that differ most", "", of_.operations, lines);
    if (full_) {
      ShapeRows();
      Rows("Phases", "", of_.phases, of_.phases.size());
      CriticalPaths();
    } else if (left_out_ || brief) {
      text_ += "-v shows more, with shapes, phases and critical path; --json has all\n";
    }
    return text_;
  }

 private:
  [[nodiscard]] std::size_t Lines() const {
    return static_cast<std::size_t>(std::ranges::count(text_, '\n'));
  }
  // Rows of a table for which there are lines: its heading takes three, the last line of all one.
  [[nodiscard]] std::size_t RowsLeft(std::size_t rows, std::size_t most) const {
    constexpr std::size_t kOther = 4;
    const std::size_t left = lines_ > Lines() + kOther ? lines_ - Lines() - kOther : 0;
    return style_.markdown ? std::min(rows, kMarkdownRows)
           : full_         ? rows
                           : std::min({rows, most, left});
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
    text_ +=
        Message(style_,
                fmt::format("aligned: {} of {} and {} of {} {} ({:.1f} % of time and {:.1f} %){}",
                            of_.a.aligned, of_.a.operations, of_.b.aligned, of_.b.operations, what,
                            100 * of_.a.time_share(), 100 * of_.b.time_share(), by),
                2);
  }

  // Cut to what a line holds; a page has space.
  [[nodiscard]] std::string Short(const std::string& text, std::size_t width) const {
    return style_.markdown ? text : Fit(text, width);
  }

  void Passed() {
    Table table({"", Short(a_.label, kLabelWidth), Short(b_.label, kLabelWidth), "ratio"});
    const auto add = [this, &table](const char* name, std::int64_t a, std::int64_t b) {
      if (a != 0 || b != 0) {
        table.Add(
            {name, DurationText(of_.StepNs(a)), DurationText(of_.StepNs(b)), RatioCell(a, b)});
      }
    };
    const SideTotals& a = of_.totals_a;
    const SideTotals& b = of_.totals_b;
    const bool device = a.on_device || b.on_device;
    table.Add({a.ranks > 1 ? "step, slowest rank" : "step", DurationText(a.step_ns),
               DurationText(b.step_ns), RatioCell(a.step_ns, b.step_ns)});
    add("device work", a.device_ns, b.device_ns);
    add(device ? "device busy" : "operations", a.activity.busy_ns, b.activity.busy_ns);
    add("waiting for launches", a.activity.launch_wait_ns, b.activity.launch_wait_ns);
    add("from launch to start", a.activity.latency_ns, b.activity.latency_ns);
    add(!device              ? "between operations"
        : of_.launches_known ? "other idle time"
                             : "idle time",
        a.activity.other_idle_ns, b.activity.other_idle_ns);
    add("transfers", a.activity.transfers_ns, b.activity.transfers_ns);
    add("exposed transfers", a.activity.exposed_ns, b.activity.exposed_ns);
    add("waiting for ranks", a.activity.waited_ns, b.activity.waited_ns);
    AddInference(table);
    text_ += Heading(style_, "Where the time goes", DevicesNote()) + TableText(style_, table);
  }

  void AddInference(Table& table) const {
    const auto a = FindInference(a_.ranks.front());
    const auto b = FindInference(b_.ranks.front());
    if (!a || !b) {
      return;
    }
    using Number = std::optional<std::int64_t> InferencePhases::*;
    const auto add = [&](const char* name, Number of, const auto& text) {
      table.Add({name, text((*a).*of), text((*b).*of),
                 RatioCell(((*a).*of).value_or(0), ((*b).*of).value_or(0))});
    };
    add("first token", &InferencePhases::first_token_ns, DurationText);
    add("each token", &InferencePhases::per_token_ns, DurationText);
    const auto rate = [](double value) { return NumberText(value) + "/s"; };
    table.Add(
        {"tokens in decode", rate(a->decode_tokens_per_second), rate(b->decode_tokens_per_second),
         a->decode_tokens_per_second > 0
             ? fmt::format("{:.2f}x", b->decode_tokens_per_second / a->decode_tokens_per_second)
             : "-"});
    const auto bytes = [](const std::optional<std::int64_t>& of) {
      return of ? BytesText(*of) : std::string("-");
    };
    add("cache grows by", &InferencePhases::cache_growth_bytes, bytes);
  }

  void Weights(const JobOperations& of) {
    const RankOperations& rank = of.ranks.front();
    if (rank.weights.trained > 0 && rank.weights.frozen > 0) {
      text_ += Message(
          style_,
          fmt::format("{}: {} of {} {} trained, {} of {} {} frozen", of.label,
                      rank.weights.trained == 1 ? "1 matrix"
                                                : fmt::format("{} matrices", rank.weights.trained),
                      BytesText(rank.weights.trained_bytes), IsOrAre(rank.weights.trained),
                      rank.weights.frozen, BytesText(rank.weights.frozen_bytes),
                      IsOrAre(rank.weights.frozen)),
          2);
    }
  }

  void Shares() {
    if (of_.shares.empty()) {
      return;
    }
    const std::string a = Short(a_.label, kShortLabelWidth);
    const std::string b = Short(b_.label, kShortLabelWidth);
    Table table(
        {"class", a + " FLOP/s", a + " bandw.", b + " FLOP/s", b + " bandw.", "peaks", "use"});
    const auto percent = [](double share) { return fmt::format("{:.1f} %", 100 * share); };
    const std::size_t shown = RowsLeft(of_.shares.size(), 4);
    left_out_ = left_out_ || shown < of_.shares.size();
    if (shown == 0) {
      return;
    }
    for (std::size_t i = 0; i < shown; ++i) {
      const ShareRow& row = of_.shares[i];
      table.Add({row.op_class, row.a.rate_known ? percent(row.a.of_rate()) : "-",
                 percent(row.a.of_bandwidth()), row.b.rate_known ? percent(row.b.of_rate()) : "-",
                 percent(row.b.of_bandwidth()), fmt::format("{:.2f}x", row.device_factor()),
                 fmt::format("{:.2f}x", row.use_factor())});
    }
    text_ +=
        Heading(style_, "Share of peak", "ratio of times = that of the peaks x that of their use") +
        TableText(style_, table);
  }

  [[nodiscard]] std::string TimeCell(const OperationSum& sum) const {
    return sum.count == 0 ? std::string("-") : DurationText(of_.StepNs(sum.ns));
  }

  [[nodiscard]] std::string DevicesNote() const {
    const auto name = [](const SideTotals& of) {
      return of.device.empty() ? std::string("unknown device") : of.device;
    };
    return of_.totals_a.on_device || of_.totals_b.on_device
               ? Short(name(of_.totals_a), 32) + " and " + Short(name(of_.totals_b), 32)
               : std::string();
  }

  void Rows(const char* title, const char* more, const std::vector<AlignedRow>& rows,
            std::size_t most) {
    const std::size_t shown = RowsLeft(rows.size(), most);
    left_out_ = left_out_ || shown < rows.size();
    if (shown == 0) {
      return;
    }
    Table table({"name", "count", Short(a_.label, kLabelWidth), Short(b_.label, kLabelWidth),
                 "ratio", "difference", "alone"});
    for (std::size_t i = 0; i < shown; ++i) {
      const AlignedRow& row = rows[i];
      table.Add({Short(row.name, kNameWidth), std::to_string(std::max(row.a.count, row.b.count)),
                 TimeCell(row.a), TimeCell(row.b), RatioCell(row.a.ns, row.b.ns),
                 SignedDurationText(of_.StepNs(row.difference_ns())), AloneCell(row.a, row.b)});
    }
    text_ += Heading(style_, title, more) + TableText(style_, table);
  }

  void ShapeRows() {
    constexpr std::size_t kMaxShapes = 200;
    Table table({"operation and shapes", Short(a_.label, kShortLabelWidth),
                 Short(b_.label, kShortLabelWidth), "ratio", "difference"});
    const std::size_t most = style_.markdown ? kMarkdownRows : kMaxShapes;
    for (std::size_t i = 0; i < std::min(of_.shapes.size(), most); ++i) {
      const AlignedRow& row = of_.shapes[i];
      table.Add({Short(row.name, 24) + " " + Short(row.shape, kShapeWidth), TimeCell(row.a),
                 TimeCell(row.b), RatioCell(row.a.ns, row.b.ns),
                 SignedDurationText(of_.StepNs(row.difference_ns()))});
    }
    text_ += Heading(style_, "Shapes that differ most", "") + TableText(style_, table);
  }

  // The path leads through one rank at a time, in all steps.
  [[nodiscard]] std::string StepText(std::int64_t all_ns) const {
    return DurationText(all_ns / std::max<std::int64_t>(of_.totals_a.steps, 1));
  }

  void CriticalPaths() {
    std::vector<std::string> names;
    for (const auto* path : {&path_a_, &path_b_}) {
      for (const PathPart& part : *path) {
        if (std::ranges::find(names, part.name) == names.end()) {
          names.push_back(part.name);
        }
      }
    }
    const auto find = [](const std::vector<PathPart>& path, const std::string& name) {
      const auto found = std::ranges::find(path, name, &PathPart::name);
      return found == path.end() ? 0 : found->ns;
    };
    if (names.empty()) {
      return;
    }
    Table table({"class", Short(a_.label, kLabelWidth), Short(b_.label, kLabelWidth), "ratio"});
    for (const std::string& name : names) {
      const std::int64_t a = find(path_a_, name);
      const std::int64_t b = find(path_b_, name);
      table.Add({name, StepText(a), StepText(b), RatioCell(a, b)});
    }
    text_ += Heading(style_, "Critical path", "of a step, the chain that its end follows from") +
             TableText(style_, table);
  }

  const JobOperations& a_;
  const JobOperations& b_;
  const std::vector<PathPart> path_a_, path_b_;
  const OperationDifference& of_;
  std::vector<std::string> notes_;
  const Style& style_;
  const bool full_;
  std::size_t lines_ = kComparisonLines;
  bool left_out_ = false;
  std::string text_;
};

}  // namespace

std::string DifferencesText(const std::vector<ComparedSide>& sides, const Style& style, bool full) {
  std::string text;
  const std::size_t count = sides.size() - 1;
  const std::size_t each = (kComparisonLines - count + 1) / count;
  const ComparedRun& base = MiddleRun(sides.front());
  for (std::size_t s = 1; s < sides.size(); ++s) {
    text += s == 1 ? "" : "\n";
    if (style.markdown) {
      text += fmt::format("## {} against {}\n\n", MarkdownText(sides[s].label),
                          MarkdownText(sides.front().label));
    }
    text += DifferenceText(base, MiddleRun(sides[s]),
                           s == 1 ? DescribeParts(sides) : std::vector<std::string>(), style, full)
                .Text(each, count > 1);
  }
  return text;
}

}  // namespace reprise

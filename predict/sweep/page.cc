// The page of a sweep: HTML and SVG without scripts, so that it is small and shows everywhere.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/counted.h"
#include "core/shown_text.h"
#include "predict/sweep/table.h"

namespace reprise {
namespace {

constexpr double kWidth = 920, kHeight = 440, kLeft = 70, kRight = 20, kTop = 16, kBottom = 50;

constexpr std::string_view kPageStyle = R"(
:root { color-scheme: light dark; --ink: #1b1f24; --dim: #6a737d; --line: #d0d7de; --back: #fff; --front: #0969da;
        --fits: #57606a; --big: #c4cad0; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --dim: #8b949e; --line: #30363d; --back: #0d1117;
        --front: #58a6ff; --fits: #9da7b3; --big: #3d444d; } }
body { font: 14px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--back); max-width: 72em; margin: 2em auto;
       padding: 0 1em; }
h1 { font-size: 1.4em; } svg { width: 100%; height: auto; } svg text { font-size: 12px; fill: var(--dim); }
.axis { stroke: var(--line); fill: none; } .front { fill: var(--front); } .fits { fill: var(--fits); opacity: .75; }
.big { fill: none; stroke: var(--dim); opacity: .6; } .path { fill: none; stroke: var(--front); stroke-width: 1.5; }
svg .label { fill: var(--front); font-weight: 600; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
td, th { padding: .2em .7em; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
td.reason { text-align: left; white-space: normal; min-width: 24em; } tr.off { color: var(--dim); }
tr.on td:first-child { color: var(--front); font-weight: 600; } .warning { border-left: 3px solid #bf8700; padding-left: .7em; }
)";

std::string HtmlText(std::string_view text) {
  std::string out;
  for (const char c : ShownText(text)) {
    out += c == '&'   ? "&amp;"
           : c == '<' ? "&lt;"
           : c == '>' ? "&gt;"
           : c == '"' ? "&quot;"
                      : std::string(1, c);
  }
  return out;
}

template <typename Number>
double PageNumber(const std::optional<Number>& number) {
  return number ? static_cast<double>(*number) : std::nan("");
}

// From 0 to a round number above `most`, in steps of 1, 2 or 5 times a power of ten.
struct PageScale {
  double most = 1, step = 1;
  explicit PageScale(double largest) {
    const double rough = std::max(largest, 1e-12) / 5;
    const double power = std::pow(10, std::floor(std::log10(rough)));
    const double part = rough / power;
    step = power * (part > 5 ? 10 : part > 2 ? 5 : part > 1 ? 2 : 1);
    most = step * std::ceil(largest / step);
  }
};

struct PagePoint {
  double x = 0, y = 0;
  const SweepRow* row = nullptr;
};

class SweepChart {
 public:
  explicit SweepChart(const SweepTable& table) : table_(table) {
    for (const SweepRow& row : table.rows) {
      const double y =
          table.energy ? PageNumber(row.energy_joules) / 1e3 : PageNumber(row.peak_bytes) / 1e9;
      const double x = row.possible ? ShownSeconds(table, row) : std::nan("");
      if (std::isfinite(x) && std::isfinite(y)) {
        points_.push_back({x, y, &row});
        largest_x_ = std::max(largest_x_, x);
        largest_y_ = std::max(largest_y_, y);
      }
    }
  }

  std::string Svg() const {
    if (points_.empty()) {
      return {};
    }
    const PageScale x(largest_x_);
    const PageScale y(largest_y_);
    const auto at_x = [&](double value) {
      return kLeft + value / x.most * (kWidth - kLeft - kRight);
    };
    const auto at_y = [&](double value) {
      return kHeight - kBottom - value / y.most * (kHeight - kTop - kBottom);
    };
    std::string svg = fmt::format(
        "<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{} against time\">\n", kWidth,
        kHeight, table_.energy ? "energy" : "memory");
    for (double tick = 0; tick <= x.most * 1.0001; tick += x.step) {
      svg += fmt::format(
          "<path class=\"axis\" d=\"M{0:.1f} {1:.1f}V{2:.1f}\"/><text x=\"{0:.1f}\" y=\"{3:.1f}\" "
          "text-anchor=\"middle\">{4:.4g}</text>\n",
          at_x(tick), kTop, kHeight - kBottom, kHeight - kBottom + 18, tick);
    }
    for (double tick = 0; tick <= y.most * 1.0001; tick += y.step) {
      svg += fmt::format(
          "<path class=\"axis\" d=\"M{0:.1f} {1:.1f}H{2:.1f}\"/><text x=\"{3:.1f}\" y=\"{4:.1f}\" "
          "text-anchor=\"end\">{5:.4g}</text>\n",
          kLeft, at_y(tick), kWidth - kRight, kLeft - 8, at_y(tick) + 4, tick);
    }
    svg += fmt::format(
        "<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"middle\">{}</text>\n"
        "<text transform=\"translate(16 {:.0f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
        (kLeft + kWidth - kRight) / 2, kHeight - 10, SecondsLabel(table_),
        (kTop + kHeight - kBottom) / 2,
        table_.energy ? "energy of a step, kJ" : "memory of a device at the peak, GB");
    svg += Front(at_x, at_y);
    // What lies on the front is drawn last, above the others.
    for (const std::string_view kind : {"big", "fits", "front"}) {
      for (const PagePoint& point : points_) {
        if (KindOf(*point.row) == kind) {
          svg += Point(point, kind, at_x(point.x), at_y(point.y));
        }
      }
    }
    return svg + "</svg>\n";
  }

 private:
  static std::string_view KindOf(const SweepRow& row) {
    return !row.Fits() ? "big" : row.pareto ? "front" : "fits";
  }

  template <typename AtX, typename AtY>
  std::string Front(const AtX& at_x, const AtY& at_y) const {
    std::vector<PagePoint> front;
    for (const PagePoint& point : points_) {
      if (KindOf(*point.row) == "front") {
        front.push_back(point);
      }
    }
    std::ranges::sort(front, {}, &PagePoint::x);
    std::string path;
    for (const PagePoint& point : front) {
      path +=
          fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", at_x(point.x), at_y(point.y));
    }
    return fmt::format("<path class=\"path\" d=\"{}\"/>\n", path);
  }

  std::string Point(const PagePoint& point, std::string_view kind, double x, double y) const {
    std::string title;
    for (std::size_t k = 0; k < table_.keys.size(); ++k) {
      title += fmt::format("{}{} {}", title.empty() ? "" : ", ", HtmlText(table_.keys[k].name),
                           HtmlText(point.row->values[k]));
    }
    std::string text = fmt::format(
        "<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"><title>{}: {:.4g} s, {:.4g} "
        "{}{}</title></circle>",
        kind, x, y, kind == "front" ? 5 : 3.5, title, point.x, point.y, table_.energy ? "kJ" : "GB",
        kind == "big" ? ", does not fit" : "");
    if (kind == "front") {
      text += fmt::format("<text class=\"label\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", x + 8, y - 6,
                          point.row->rank.value_or(0));
    }
    return text + "\n";
  }

  const SweepTable& table_;
  std::vector<PagePoint> points_;
  double largest_x_ = 0, largest_y_ = 0;
};

std::string RowOfPage(const SweepTable& table, const SweepRow& row) {
  std::string html = fmt::format("<tr class=\"{}\"><td>{}</td>",
                                 row.pareto   ? "on"
                                 : row.Fits() ? "in"
                                              : "off",
                                 row.rank ? std::to_string(*row.rank) : "–");
  for (const std::string& value : row.values) {
    html += fmt::format("<td>{}</td>", HtmlText(value));
  }
  if (!row.possible) {
    return html + fmt::format("<td class=\"reason\" colspan=\"{}\">cannot be: {}</td></tr>\n",
                              table.energy ? 8 : 7, HtmlText(row.reason));
  }
  html += fmt::format("<td>{:.4g}</td><td>{:.2f}</td>", ShownSeconds(table, row),
                      PageNumber(row.peak_bytes) / 1e9);
  if (table.energy) {
    html += fmt::format("<td>{:.4g}</td>", PageNumber(row.energy_joules) / 1e3);
  }
  html += fmt::format(
      "<td>{:.0f}</td>",
      PageNumber(row.tokens_per_second ? row.tokens_per_second : row.samples_per_second));
  for (const auto& share : {row.mfu, row.hfu}) {
    html += share ? fmt::format("<td>{:.1f} %</td>", 100 * *share) : "<td>–</td>";
  }
  for (const auto& ns : {row.bubble_ns, row.exposed_communication_ns}) {
    html += fmt::format("<td>{:.1f} %</td>", 100 * PageNumber(ns) / PageNumber(row.step_time_ns));
  }
  return html + "</tr>\n";
}

}  // namespace

std::string SweepPage(const SweepTable& table) {
  const SweepCounts counts = CountRows(table);
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\" data-ready=\"true\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n"
      "<title>{0}</title>\n<style>{1}</style></head><body>\n<h1>{0}</h1>\n",
      HtmlText(table.title), kPageStyle);
  for (const std::string& warning : SweepWarnings(table)) {
    html += fmt::format("<p class=\"warning\">{}</p>\n", HtmlText(warning));
  }
  html += fmt::format(
      "<p>Every time is modelled: nothing was executed. {}: {} fit in memory, {} do "
      "not, {} cannot be. Ranked by {}.</p>\n",
      Counted(table.rows.size(), "configuration"), counts.fit, counts.do_not_fit, counts.cannot_be,
      table.rank_by);
  html += SweepChart(table).Svg();
  html += fmt::format(
      "<p>Blue: the Pareto front, with ranks; no other configuration that fits is better in time "
      "and in {}. Rings: what does not fit.</p>\n<div class=\"scroll\"><table><thead><tr>"
      "<th>rank</th>",
      table.energy ? "energy" : "memory");
  for (const SweepKey& key : table.keys) {
    html += fmt::format("<th>{}</th>", HtmlText(key.name));
  }
  html += fmt::format(
      "<th>{}</th><th>peak, GB</th>{}<th>{}</th><th>MFU</th><th>HFU</th><th>bubble</th>"
      "<th>transfers alone</th></tr></thead><tbody>\n",
      SecondsLabel(table), table.energy ? "<th>energy, kJ</th>" : "",
      table.tokens ? "tokens/s" : "samples/s");
  for (const SweepRow& row : table.rows) {
    html += RowOfPage(table, row);
  }
  return html + "</tbody></table></div>\n</body></html>\n";
}

}  // namespace reprise

// The page of a sweep: HTML and SVG that show everywhere, and a short script that sorts and filters
// the table.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "core/counted.h"
#include "core/shown_text.h"
#include "predict/sweep/table.h"
#include "report/text/table.h"

namespace reprise {
namespace {

constexpr double kWidth = 920, kHeight = 440, kLeft = 80, kRight = 30, kTop = 34, kBottom = 60;

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
svg .label { fill: var(--front); font-weight: 600; paint-order: stroke; stroke: var(--back); stroke-width: 4px; }
.scroll { overflow-x: auto; }
@media (max-width: 46em) { svg text { font-size: 24px; } svg circle { r: 9px; } }
th button { all: unset; cursor: pointer; font-weight: 600; } th button:focus-visible { outline: 2px solid var(--front); }
th[aria-sort=ascending] button::after { content: " ▲"; } th[aria-sort=descending] button::after { content: " ▼"; }
.filter { display: flex; flex-wrap: wrap; gap: .5em 1.2em; margin: 1em 0; } .filter input[type=search] { font: inherit; width: 16em; max-width: 100%; }
 table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
td, th { padding: .2em .7em; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
td.reason { text-align: left; white-space: normal; min-width: 20em; } tr.off { color: var(--dim); }
tr.on td:first-child { color: var(--front); font-weight: 600; } .warning { border-left: 3px solid #bf8700; padding-left: .7em; }
)";

// Sorts by a column's values, what has none last; shows the rows with all words of the filter.
constexpr std::string_view kPageScript = R"(
const body = document.querySelector('tbody'), words = document.getElementById('words'), fits = document.getElementById('fits');
const value = (row, c) => { const cell = row.cells[c]; return cell && cell.dataset.v !== undefined ? cell.dataset.v : ''; };
document.querySelectorAll('th button').forEach((button, c) => button.addEventListener('click', () => {
  const head = button.parentElement, down = head.getAttribute('aria-sort') === 'ascending';
  document.querySelectorAll('th').forEach(other => other.removeAttribute('aria-sort'));
  head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
  const order = (a, b) => {
    const x = value(a, c), y = value(b, c);
    if (x === '' || y === '') return (x === '') - (y === '');
    const by = isNaN(x) || isNaN(y) ? x.localeCompare(y) : x - y;
    return down ? -by : by;
  };
  body.append(...[...body.rows].sort(order));
}));
const filter = () => {
  const wanted = words.value.toLowerCase().split(/\s+/).filter(word => word);
  let shown = 0;
  for (const row of body.rows) {
    const text = row.dataset.text.toLowerCase();
    row.hidden = fits.checked && !row.dataset.fits || !wanted.every(word => (' ' + text + ' ').includes(' ' + word + ' ') || !word.includes('=') && text.includes(word));
    shown += !row.hidden;
  }
  document.getElementById('shown').textContent = `${shown} of ${body.rows.length} rows`;
};
words.addEventListener('input', filter);
fits.addEventListener('change', filter);
filter();
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

// Round numbers around `least` and `most`, in steps of 1, 2 or 5 times a power of ten.
struct PageScale {
  double from = 0, to = 1, step = 1;
  PageScale(double least, double most) {
    const double room = most > least ? (most - least) / 20 : std::max(std::abs(most), 1e-12) / 10;
    const double rough = (most - least + 2 * room) / 5;
    const double power = std::pow(10, std::floor(std::log10(rough)));
    const double part = rough / power;
    step = power * (part > 5 ? 10 : part > 2 ? 5 : part > 1 ? 2 : 1);
    from = std::max(step * std::floor((least - room) / step), 0.0);
    to = step * std::ceil((most + room) / step);
  }
  [[nodiscard]] int Ticks() const { return static_cast<int>(std::lround((to - from) / step)) + 1; }
  [[nodiscard]] double Tick(int i) const { return from + i * step; }
  [[nodiscard]] double PartOf(double value) const { return (value - from) / (to - from); }
};

struct PagePoint {
  double x = 0, y = 0;
  const SweepRow* row = nullptr;
};

class SweepChart {
 public:
  explicit SweepChart(const SweepTable& table) : table_(table) {
    for (const SweepRow& row : table.rows) {
      const double y = table.energy ? PageNumber(row.energy_joules) / 1e3
                                    : PageNumber(row.peak_bytes) / kGibibyte;
      if (row.step_time_ns && std::isfinite(y)) {
        points_.push_back({ShownSeconds(table, row), y, &row});
      }
    }
  }

  std::string Svg() const {
    if (points_.empty()) {
      return {};
    }
    const auto [least_x, most_x] = std::ranges::minmax(points_, {}, &PagePoint::x);
    const auto [least_y, most_y] = std::ranges::minmax(points_, {}, &PagePoint::y);
    const PageScale x(least_x.x, most_x.x);
    const PageScale y(least_y.y, most_y.y);
    const auto at_x = [&](double value) {
      return kLeft + x.PartOf(value) * (kWidth - kLeft - kRight);
    };
    const auto at_y = [&](double value) {
      return kHeight - kBottom - y.PartOf(value) * (kHeight - kTop - kBottom);
    };
    std::string svg = fmt::format(
        "<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{} against time\">\n", kWidth,
        kHeight, table_.energy ? "energy" : "memory");
    for (int i = 0; i < x.Ticks(); ++i) {
      const double tick = x.Tick(i);
      svg += fmt::format(
          "<path class=\"axis\" d=\"M{0:.1f} {1:.1f}V{2:.1f}\"/><text x=\"{0:.1f}\" y=\"{3:.1f}\" "
          "text-anchor=\"middle\">{4:.4g}</text>\n",
          at_x(tick), kTop, kHeight - kBottom, kHeight - kBottom + 22, tick);
    }
    for (int i = 0; i < y.Ticks(); ++i) {
      const double tick = y.Tick(i);
      svg += fmt::format(
          "<path class=\"axis\" d=\"M{0:.1f} {1:.1f}H{2:.1f}\"/><text x=\"{3:.1f}\" y=\"{4:.1f}\" "
          "text-anchor=\"end\">{5:.4g}</text>\n",
          kLeft, at_y(tick), kWidth - kRight, kLeft - 8, at_y(tick) + 4, tick);
    }
    svg += fmt::format(
        "<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"middle\">{}</text>\n"
        "<text x=\"{:.0f}\" y=\"{:.0f}\">{}</text>\n",
        (kLeft + kWidth - kRight) / 2, kHeight - 8, SecondsLabel(table_), kLeft, kTop - 12,
        table_.energy ? "energy of a step, kJ" : "memory of a device at the peak, GiB");
    svg += Front(at_x, at_y);
    // What lies on the front is drawn last, above the others.
    for (const std::string_view kind : {"big", "fits", "front"}) {
      for (const PagePoint& point : points_) {
        if (KindOf(*point.row) == kind) {
          svg += Point(point, kind, at_x(point.x), at_y(point.y));
        }
      }
    }
    // Labels stand in front of all points.
    for (const PagePoint& point : points_) {
      if (KindOf(*point.row) == "front") {
        const bool at_right = at_x(point.x) > kWidth - kRight - 40;
        svg += fmt::format(
            "<text class=\"label\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n",
            at_x(point.x) + (at_right ? -8 : 8), at_y(point.y) - 6, at_right ? "end" : "start",
            point.row->rank.value_or(0));
      }
    }
    return "<div class=\"chart\">" + svg + "</svg></div>\n";
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
    return fmt::format(
        "<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"><title>{}: {:.4g} s, {:.4g} "
        "{}{}</title></circle>\n",
        kind, x, y, kind == "front" ? 5 : 3.5, title, point.x, point.y,
        table_.energy ? "kJ" : "GiB", kind == "big" ? ", does not fit" : "");
  }

  const SweepTable& table_;
  std::vector<PagePoint> points_;
};

// A column of numbers: its head, a row's number (none: nothing is known), how it is shown.
struct PageColumn {
  std::string head;
  std::function<double(const SweepRow& row)> number;
  const char* format;
};

std::vector<PageColumn> ColumnsOf(const SweepTable& table) {
  const auto share = [](auto SweepRow::*part) {
    return [part](const SweepRow& row) {
      return 100 * PageNumber(row.*part) / PageNumber(row.step_time_ns);
    };
  };
  std::vector<PageColumn> columns = {
      {SecondsLabel(table),
       [&table](const SweepRow& row) {
         return row.step_time_ns ? ShownSeconds(table, row) : std::nan("");
       },
       "{:.4g}"},
      {table.tokens ? "tokens/s" : "samples/s",
       [](const SweepRow& row) {
         return PageNumber(row.tokens_per_second ? row.tokens_per_second : row.samples_per_second);
       },
       "{:.0f}"},
      {"MFU, %", [](const SweepRow& row) { return 100 * PageNumber(row.mfu); }, "{:.1f}"},
      {"HFU, %", [](const SweepRow& row) { return 100 * PageNumber(row.hfu); }, "{:.1f}"},
      {"peak, GiB", [](const SweepRow& row) { return PageNumber(row.peak_bytes) / kGibibyte; },
       "{:.2f}"},
      {"left, GiB", [](const SweepRow& row) { return PageNumber(row.LeftBytes()) / kGibibyte; },
       "{:.2f}"}};
  if (table.energy) {
    columns.push_back({"energy, kJ",
                       [](const SweepRow& row) { return PageNumber(row.energy_joules) / 1e3; },
                       "{:.4g}"});
    columns.push_back({"W a device, mean",
                       [](const SweepRow& row) { return PageNumber(row.mean_watts); }, "{:.0f}"});
    columns.push_back(
        {"highest", [](const SweepRow& row) { return PageNumber(row.peak_watts); }, "{:.0f}"});
    columns.push_back({"kW in all",
                       [](const SweepRow& row) {
                         return PageNumber(row.mean_watts) * PageNumber(row.ranks) / 1e3;
                       },
                       "{:.1f}"});
  }
  columns.push_back({"bubble, %", share(&SweepRow::bubble_ns), "{:.1f}"});
  columns.push_back({"transfers alone, %", share(&SweepRow::exposed_communication_ns), "{:.1f}"});
  return columns;
}

std::string RowOfPage(const SweepTable& table, const std::vector<PageColumn>& columns,
                      const SweepRow& row) {
  std::string html = fmt::format("<tr class=\"{}\" data-text=\"{}\"{}><td{}>{}</td>",
                                 row.pareto   ? "on"
                                 : row.Fits() ? "in"
                                              : "off",
                                 HtmlText(ConfigurationText(table.keys, row.values)),
                                 row.Fits() ? " data-fits=\"1\"" : "",
                                 row.rank ? fmt::format(" data-v=\"{}\"", *row.rank) : "",
                                 row.rank       ? std::to_string(*row.rank)
                                 : row.possible ? "does not fit"
                                                : "–");
  for (const std::string& value : row.values) {
    html += fmt::format("<td data-v=\"{0}\">{0}</td>", HtmlText(value));
  }
  if (!row.possible) {
    return html + fmt::format("<td class=\"reason\" colspan=\"{}\">cannot be: {}</td></tr>\n",
                              columns.size(), HtmlText(row.reason));
  }
  for (const PageColumn& column : columns) {
    const double number = column.number(row);
    html += std::isfinite(number) ? fmt::format("<td data-v=\"{:.9g}\">{}</td>", number,
                                                fmt::format(fmt::runtime(column.format), number))
                                  : "<td>–</td>";
  }
  return html + "</tr>\n";
}

}  // namespace

std::string SweepPage(const SweepTable& table) {
  const SweepCounts counts = CountRows(table);
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\" data-ready=\"true\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{0}</title>\n<style>{1}</style></head><body>\n<h1>{0}</h1>\n",
      HtmlText(table.title), kPageStyle);
  for (const std::string& warning : SweepWarnings(table)) {
    html += fmt::format("<p class=\"warning\">{}</p>\n", HtmlText(warning));
  }
  html += fmt::format(
      "<p>Every time is modelled: nothing was executed. {}: {} fit in memory, {} do "
      "not{}, {} cannot be. Ranked by {}.</p>\n",
      Counted(table.rows.size(), "configuration"), counts.fit, counts.do_not_fit,
      counts.not_simulated > 0
          ? fmt::format(" ({} by an estimate of memory, without times)", counts.not_simulated)
          : "",
      counts.cannot_be, table.rank_by);
  html += SweepChart(table).Svg();
  html += fmt::format(
      "<p>Blue: the Pareto front, with ranks; no other configuration that fits is better in time "
      "and in {}. Rings: what does not fit. Axes need not begin at 0.</p>\n"
      "<p class=\"filter\"><label>rows with <input id=\"words\" type=\"search\" "
      "placeholder=\"{}\"></label> <label><input id=\"fits\" type=\"checkbox\"> only what fits"
      "</label> <span id=\"shown\"></span></p>\n"
      "<div class=\"scroll\" tabindex=\"0\"><table><thead><tr>",
      table.energy ? "energy" : "memory",
      table.rows.empty()
          ? ""
          : HtmlText(ConfigurationText({table.keys.front()}, {table.rows.front().values.front()})));
  const std::vector<PageColumn> columns = ColumnsOf(table);
  std::vector<std::string> heads = {"rank"};
  for (const SweepKey& key : table.keys) {
    heads.push_back(key.name);
  }
  for (const PageColumn& column : columns) {
    heads.push_back(column.head);
  }
  for (const std::string& head : heads) {
    html += fmt::format("<th><button type=\"button\">{}</button></th>", HtmlText(head));
  }
  html += "</tr></thead><tbody>\n";
  for (const SweepRow& row : table.rows) {
    html += RowOfPage(table, columns, row);
  }
  return html +
         fmt::format("</tbody></table></div>\n<script>{}</script>\n</body></html>\n", kPageScript);
}

}  // namespace reprise

#include "report/text/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/counted.h"

namespace reprise {
namespace {

// 999.6 shows as "1.00" of the next unit, not as "1e+03".
constexpr double kNextUnit = 999.5;

std::string ThreeDigits(double value) {
  const double size = std::abs(value);
  if (size >= 99.95 || size == 0) {
    return fmt::format("{:.0f}", value);
  }
  return size >= 9.995 ? fmt::format("{:.1f}", value) : fmt::format("{:.2f}", value);
}

// `whole`: of the smallest unit whole numbers.
template <std::size_t N>
std::string Scaled(double value, const std::array<const char*, N>& units, bool whole) {
  std::size_t unit = 0;
  while (std::abs(value) >= kNextUnit && unit + 1 < N) {
    value /= 1000;
    ++unit;
  }
  return (unit == 0 && whole ? fmt::format("{:.0f}", value) : NumberText(value)) + " " +
         units[unit];
}

}  // namespace

std::string Table::Text(std::size_t left) const {
  std::vector<std::size_t> widths(rows_.front().size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      widths[c] = std::max(widths[c], row[c].size());
    }
  }
  std::string text;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    const auto& row = rows_[r];
    std::string line = " ";
    for (std::size_t c = 0; c < row.size(); ++c) {
      line += c < left ? fmt::format(" {:<{}} ", row[c], widths[c])
                       : fmt::format(" {:>{}} ", row[c], widths[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n" + (notes_[r].empty() ? "" : "      " + notes_[r] + "\n");
  }
  return text;
}

std::string Table::Markdown() const {
  std::string text;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    std::string line = "|";
    for (const std::string& cell : rows_[r]) {
      line += " " + MarkdownText(cell) + " |";
    }
    text += line + "\n";
    if (r == 0) {
      text += "|";
      for (std::size_t c = 0; c < rows_[0].size(); ++c) {
        text += c == 0 ? " --- |" : " ---: |";
      }
      text += "\n";
    }
  }
  return text;
}

std::string RanksLeftOut(std::size_t ranks) {
  return ranks > kMaxRankRows ? fmt::format("  .. and {}; --json has all\n",
                                            Counted(ranks - kMaxRankRows, "more rank"))
                              : "";
}

std::string Fit(const std::string& text, std::size_t width) {
  if (text.size() <= width) {
    return text;
  }
  const std::size_t front = (width - 2) / 2;
  return text.substr(0, front) + ".." + text.substr(text.size() - (width - 2 - front));
}

std::string DeviceText(const std::string& device, std::int64_t devices, std::size_t width) {
  return Fit(device, width) + (devices > 1 ? " x " + std::to_string(devices) : "");
}

std::string DurationText(std::optional<std::int64_t> ns) {
  constexpr std::array<const char*, 4> kUnits = {"ns", "us", "ms", "s"};
  return ns ? Scaled(static_cast<double>(*ns), kUnits, true) : "-";
}

std::string SignedDurationText(std::int64_t ns) {
  return (ns < 0 ? "-" : "+") + DurationText(ns < 0 ? -ns : ns);
}

std::string BytesText(std::int64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "kB", "MB", "GB", "TB"};
  return Scaled(static_cast<double>(bytes), kUnits, true);
}

std::string GibibytesText(double bytes) { return fmt::format("{:.2f}", bytes / kGibibyte); }

std::string NumberText(std::optional<double> value) {
  return value && std::isfinite(*value) ? ThreeDigits(*value) : "-";
}

std::string JoulesText(std::optional<double> joules) {
  if (!joules) {
    return "-";
  }
  constexpr std::array<const char*, 6> kUnits = {"uJ", "mJ", "J", "kJ", "MJ", "GJ"};
  constexpr double kRounding = 0.005e-6;  // leaves this of a difference
  return std::abs(*joules) < kRounding ? "0 J" : Scaled(*joules * 1e6, kUnits, false);
}

std::string ErrorText(std::optional<double> fraction) {
  return fraction ? fmt::format("{:+.1f} %", 100 * *fraction) : "-";
}

std::string TableText(const Style& style, const Table& table, std::size_t left) {
  return style.markdown ? table.Markdown() : table.Text(left);
}

std::string TitledTable(const Style& style, const std::string& title, const std::string& more,
                        const Table& table, std::size_t left) {
  return table.Empty() ? "" : Heading(style, title, more) + TableText(style, table, left);
}

std::string Message(const Style& style, const std::string& text, std::size_t indent) {
  return style.markdown ? "- " + MarkdownText(text) + "\n" : Wrap(text, kConsoleWidth, indent);
}

std::string Wrap(const std::string& text, std::size_t width, std::size_t indent) {
  std::string out;
  std::string rest = text;
  while (rest.size() > width) {
    std::size_t cut = rest.rfind(' ', width);
    if (cut == std::string::npos || cut <= indent) {
      cut = rest.find(' ', width);  // a word longer than a line stays whole
    }
    if (cut == std::string::npos) {
      break;
    }
    out += rest.substr(0, cut) + "\n";
    rest = std::string(indent, ' ') + rest.substr(cut + 1);
  }
  return out + rest + "\n";
}

Style MakeStyle(bool colour) { return colour ? Style{"\x1b[1m", "\x1b[2m", "\x1b[0m"} : Style{}; }

Style MarkdownStyle() {
  Style style;
  style.markdown = true;
  return style;
}

std::string Heading(const Style& style, const std::string& title, const std::string& more) {
  if (style.markdown) {
    return fmt::format("\n### {}\n\n{}", MarkdownText(title),
                       more.empty() ? "" : MarkdownText(more) + ".\n\n");
  }
  return fmt::format("\n{}{}{}{}{}{}\n", style.bold, title, style.reset, style.dim,
                     more.empty() ? "" : "  " + more, style.reset);
}

}  // namespace reprise

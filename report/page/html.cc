#include "report/page/html.h"

#include <algorithm>
#include <span>

#include "report/page/html_files.h"

namespace reprise {
namespace {

// Scripts run in this order: what pages share, then their own.
constexpr std::string_view kSharedScripts[] = {"d3.min.js", "text.js", "chart.js", "heat_map.js",
                                               "shell.js"};
constexpr std::string_view kReportScripts[] = {
    "time_charts.js", "run_charts.js", "energy_charts.js", "telemetry_charts.js", "page.js"};
constexpr std::string_view kComparisonScripts[] = {
    "sides.js",          "panels.js",        "operation_charts.js",
    "compare_charts.js", "figure_charts.js", "compare_page.js"};

std::string_view FileText(std::string_view name) {
  const auto files = EmbeddedPageFiles();
  return std::ranges::find(files, name, &EmbeddedFile::name)->text;
}

std::string Joined(std::span<const std::string_view> names) {
  std::string text;
  for (const std::string_view name : names) {
    text.append(FileText(name)).append("\n");
  }
  return text;
}

}  // namespace

std::string EscapeForScript(std::string_view json) {
  std::string escaped;
  escaped.reserve(json.size() + json.size() / 16);
  for (std::size_t i = 0; i < json.size(); ++i) {
    // Outside of strings JSON has none of these, and within them \u means the same.
    const std::string_view rest = json.substr(i);
    if (rest.starts_with("\xE2\x80\xA8") || rest.starts_with("\xE2\x80\xA9")) {
      escaped += rest[2] == '\xA8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else if (json[i] == '<') {
      escaped += "\\u003c";
    } else if (json[i] == '>') {
      escaped += "\\u003e";
    } else if (json[i] == '&') {
      escaped += "\\u0026";
    } else {
      escaped += json[i];
    }
  }
  return escaped;
}

std::string HtmlPage(std::string_view json, PageKind kind) {
  const bool report = kind == PageKind::kReport;
  const std::string_view title = report ? "Reprise report" : "Reprise comparison";
  const std::string_view frame = FileText("page.html");
  // The frame names what stands where, in this order; what is put in is not searched again.
  std::string text;
  std::size_t at = 0;
  const auto put = [&](std::string_view name, std::string_view value) {
    const std::size_t found = frame.find(name, at);
    text.append(frame.substr(at, found - at)).append(value);
    at = found + name.size();
  };
  put("{{title}}", title);
  put("{{style}}", FileText("page.css"));
  put("{{title}}", title);
  put("{{data}}", EscapeForScript(json));
  put("{{scripts}}",
      Joined(kSharedScripts) + (report ? Joined(kReportScripts) : Joined(kComparisonScripts)));
  return text.append(frame.substr(at));
}

std::string HtmlText(const Report& report, const PageDetails& details) {
  return HtmlPage(HtmlDataJson(report, details), PageKind::kReport);
}

}  // namespace reprise

#include "report/sections/sections.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "core/nearest.h"
#include "report/sections/report_json.h"
#include "report/sections/section.h"

namespace reprise {

#define SECTION(name) Section name##Section();
#include "report/sections/sections.def"
#undef SECTION

std::span<const Section> Sections() {
  static const auto sections = std::to_array<Section>({
#define SECTION(name) name##Section(),
#include "report/sections/sections.def"
#undef SECTION
  });
  return sections;
}

namespace {

const Section* FindRow(const std::string& name) {
  const auto found = std::ranges::find(Sections(), name, &Section::name);
  return found == Sections().end() ? nullptr : &*found;
}

}  // namespace

std::string FullText(const Report& report, bool colour) {
  const Style style = MakeStyle(colour);
  std::string text;
  for (const Section& section : Sections()) {
    text += section.console(report, style);
  }
  return text;
}

Status FindSection(const std::string& name) {
  if (FindRow(name) == nullptr) {
    return UsageError(fmt::format("report: --section '{}' is none of {}{}", name,
                                  fmt::join(SectionNames(), ", "),
                                  DidYouMean(name, SectionNames())));
  }
  return {};
}

Result<std::string> SectionText(const Report& report, const std::string& name, bool colour) {
  REPRISE_TRY(FindSection(name));
  const std::string text = FindRow(name)->console(report, MakeStyle(colour));
  return text.empty() ? fmt::format("{}: this run has nothing for it\n", name)
                      : text.substr(text.front() == '\n' ? 1 : 0);
}

std::vector<std::string> SectionNames() {
  std::vector<std::string> names;
  for (const Section& section : Sections()) {
    names.emplace_back(section.name);
  }
  return names;
}

Json SourcesJson(const SourceTimes& from_ns) {
  Json json;
  for (std::size_t i = 1; i < from_ns.size(); ++i) {
    if (from_ns[i] > 0) {
      json[std::string(Name(static_cast<TimeSource>(i)))] = from_ns[i];
    }
  }
  return json;
}

void to_json(Json& json, const ClassRow& row) {
  REPRISE_ADD_FIELDS(json, row, name, count, recorded_ns, tracing_ns, replayed_ns, flops, bytes,
                     gflop_per_s, gb_per_s)
  json["time_from_ns"] = SourcesJson(row.from_ns);
}

Json ReportJson(const Report& report) {
  Json json;
  for (const Section& section : Sections()) {
    section.json(report, json);
  }
  return json;
}

std::string JsonText(const Report& report) {
  return ReportJson(report).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace reprise

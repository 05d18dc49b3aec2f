// The sections of a report, each an object: how its values are found, and how the console and the
// JSON show them. `report --full`, `--section`, the help and the page's JSON all read this list.
// docs/architecture.md says how to add one. Only report/ sees this.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "report/sections/html_limits.h"
#include "report/text/table.h"
#include "report/values/report.h"

namespace reprise {

struct Section {
  std::string_view name;  // as --section takes it and docs/report.md has it
  // Fills values of the report from an outline of the run (RankContent::kOutline), after the passes
  // over nodes (report/part_sums.h). In the order of the list; the verdict is found after all.
  // Null: passes have filled them.
  void (*analyse)(const RunData& outline, Report& report) = nullptr;
  // Empty: the run has nothing for it.
  std::string (*console)(const Report& report, const Style& style) = nullptr;
  // Adds the section's members to the report's object.
  void (*json)(const Report& report, nlohmann::ordered_json& json) = nullptr;
  // Cuts its lists to what the page shows. Null: they are short.
  void (*cut)(const HtmlLimits& limits, Cutter& cutter, Report& report) = nullptr;
};

[[nodiscard]] std::span<const Section> Sections();

}  // namespace reprise

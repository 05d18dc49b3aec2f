// reprise audit: what a trace set still says.
#include "converters/audit/audit.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"

namespace reprise {
namespace {

using Json = nlohmann::ordered_json;

struct AuditFlags {
  std::string path, names;
  bool json = false, all = false;
};

LocalNames NamesOfThisMachine() {
  LocalNames names;
  constexpr std::size_t kMostHostName = 256;
  std::array<char, kMostHostName> host{};
  if (gethostname(host.data(), host.size() - 1) == 0) {
    names.host = host.data();
  }
  if (const passwd* user = getpwuid(getuid()); user != nullptr) {
    names.user = user->pw_name;
    names.home = user->pw_dir;
  }
  return names;
}

Json ToJson(const AuditFlags& flags, const AuditReport& report) {
  Json findings = Json::array();
  for (const Finding& finding : report.findings) {
    findings.push_back({{"kind", finding.kind},
                        {"field", finding.field},
                        {"text", finding.text},
                        {"count", finding.count}});
  }
  Json fields = Json::object();
  for (const auto& [name, field] : report.census.fields) {
    fields[name] = {{"count", field.count}, {"strings", field.texts}};
  }
  Json facts = Json::array();
  for (const ShapeFact& fact : report.facts) {
    facts.push_back({{"fact", fact.name}, {"value", fact.value}, {"from", fact.from}});
  }
  return {{"path", flags.path},
          {"files", report.files},
          {"nodes", report.census.nodes},
          {"clean", report.findings.empty()},
          {"findings", std::move(findings)},
          {"readable_from_shapes", std::move(facts)},
          {"fields", std::move(fields)}};
}

// Strings come from files: no control characters on a terminal.
std::string Printable(std::string_view text) {
  constexpr std::size_t kMost = 120;
  std::string out;
  for (const char c : text.substr(0, kMost)) {
    out += static_cast<unsigned char>(c) < ' ' ? '?' : c;
  }
  return out + (text.size() > kMost ? "..." : "");
}

void Print(const AuditFlags& flags, const AuditReport& report) {
  constexpr std::size_t kMostShown = 12;
  fmt::print("{}: {} files, {} nodes\nfields and strings:\n", flags.path, report.files,
             report.census.nodes);
  for (const auto& [name, field] : report.census.fields) {
    fmt::print("  {} x {}\n", field.count, Printable(name));
    std::size_t shown = 0;
    for (const auto& [text, count] : field.texts) {
      if (!flags.all && shown++ == kMostShown) {
        fmt::print("      ... {} more; --all shows them\n", field.texts.size() - kMostShown);
        break;
      }
      fmt::print("      {} x '{}'\n", count, Printable(text));
    }
  }
  for (const ShapeFact& fact : report.facts) {
    fmt::print("can be read from shapes: {} {} ({})\n", fact.name, fact.value, fact.from);
  }
  std::size_t shown = 0;
  for (const Finding& finding : report.findings) {
    if (!flags.all && shown++ == 4 * kMostShown) {
      fmt::print("... {} more findings; --all shows them\n",
                 report.findings.size() - 4 * kMostShown);
      break;
    }
    fmt::print("finding: {} in {}{}{} ({} times)\n", finding.kind, Printable(finding.field),
               finding.text.empty() ? "" : ": ", Printable(finding.text), finding.count);
  }
  fmt::print("{}\n", report.findings.empty()
                         ? "nothing found that names anyone or anything of one's own"
                         : fmt::format("{} findings", report.findings.size()));
}

}  // namespace

CommandBody RegisterAudit(CLI::App& app, const CommandContext& /*context*/) {
  auto flags = std::make_shared<AuditFlags>();
  app.description(
      "List the strings and fields in a trace set; exit 1 if some should not be shared");
  app.add_option("path", flags->path, "trace set")->required();
  app.add_option("--public-names", flags->names, "file with further names to accept");
  app.add_flag("--all", flags->all, "print every string and finding");
  app.add_flag("--json", flags->json, "machine-readable result on stdout, always complete");
  return [flags]() -> Result<int> {
    const AuditRequest request{
        .directory = flags->path, .local = NamesOfThisMachine(), .public_names = flags->names};
    REPRISE_ASSIGN(const AuditReport report, AuditSet(request));
    if (flags->json) {
      fmt::print("{}\n",
                 ToJson(*flags, report).dump(1, ' ', false, Json::error_handler_t::replace));
    } else {
      Print(*flags, report);
    }
    return report.findings.empty() ? 0 : static_cast<int>(ErrorKind::kCheckFailed);
  };
}

}  // namespace reprise

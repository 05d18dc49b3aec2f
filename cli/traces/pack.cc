// reprise pack: a trace set as one file to share.
#include "converters/share/package/pack.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "cli/program/commands.h"
#include "cli/program/local_names.h"
#include "cli/program/show_json.h"
#include "converters/share/anonymize/anonymize.h"
#include "core/counted.h"
#include "core/json_fields.h"
#include "core/output_kind.h"
#include "core/parse_json.h"
#include "core/shown_text.h"
#include "core/temporary_output.h"

namespace reprise {
namespace {

struct PackFlags {
  PackRequest request;
  bool json = false, not_anonymized = false;
};

// Of a generated set: whether it is still as it was written, without users' names.
Result<bool> NamesNobody(const std::string& directory) {
  std::error_code error;
  if (!std::filesystem::exists(std::filesystem::path(directory) / kJobFile, error)) {
    return false;
  }
  REPRISE_ASSIGN(const AuditReport audit,
                 AuditSet({.directory = directory, .local = NamesOfThisMachine()}));
  return audit.findings.empty();
}

// A package is made to be handed on: what names people and machines goes in only on request.
// Returns the message for the user.
Result<std::string> CheckAnonymized(const PackRequest& request, bool not_anonymized) {
  std::error_code error;
  const std::filesystem::path set = request.directory;
  if (not_anonymized || !std::filesystem::is_directory(set, error) ||
      std::filesystem::exists(set / kAnonymizedFile, error)) {
    return std::string("note: the set is not anonymized: names, hosts and times are in it");
  }
  REPRISE_ASSIGN(const bool names_nobody, NamesNobody(request.directory));
  if (names_nobody) {
    return std::string("a generated set: `reprise audit` finds no names, hosts or times in it");
  }
  return UsageError(fmt::format(
      "{0} is not anonymized: names, hosts and times would be in the package. Remove them first: "
      "reprise anonymize {0} shared; reprise pack shared -o {1}. Or pack it as it is: add "
      "--not-anonymized",
      request.directory, request.output));
}

Result<int> RunPack(const PackFlags& flags, Processes& processes) {
  const PackRequest& request = flags.request;
  REPRISE_ASSIGN(const std::string unnamed, CheckAnonymized(request, flags.not_anonymized));
  REPRISE_TRY(CreateParents(request.output));
  REPRISE_ASSIGN(const PackReport report, PackSet(request, processes));
  if (!processes.first()) {
    return 0;
  }
  std::uint64_t unpacked = 0;
  for (const PackagedFile& file : report.manifest.files) {
    unpacked += file.bytes;
  }
  if (flags.json) {
    Json json = ParseJson<Json>(ManifestText(report.manifest));
    json["package"] = {{"path", request.output}, {"bytes", report.bytes}};
    json["left_out"] = report.left_out;
    ShowJson(json, 1);
    return 0;
  }
  fmt::print("{}: {}, {} bytes from {}\n", ShownText(request.output),
             Counted(report.manifest.files.size(), "file"), report.bytes, unpacked);
  fmt::print("{}\n", report.manifest.policy.empty()
                         ? unnamed
                         : "policy: " + ShownText(report.manifest.policy));
  for (const std::string& name : report.left_out) {
    fmt::print("note: left out, no part of the set: {}\n", ShownText(name));
  }
  return 0;
}

}  // namespace

CommandBody RegisterPack(CLI::App& app, const CommandContext& context) {
  auto flags = std::make_shared<PackFlags>();
  PackRequest& request = flags->request;
  app.description("Put a trace set into one file to share");
  app.add_option("SET", request.directory, "trace set")->required();
  app.add_option("-o,--output", request.output, "file to write, e.g. name.reprise")->required();
  app.add_option("--license,--licence", request.licence_file, "file with the licence text")
      ->check(CLI::ExistingFile);
  app.add_flag("--not-anonymized", flags->not_anonymized,
               "pack a set that `anonymize` did not write, with all its names and times");
  app.add_flag("--force", request.force, "replace an output that exists");
  app.add_flag("--json", flags->json, "machine-readable result on stdout");
  return [&context, flags] { return RunPack(*flags, *context.processes); };
}

}  // namespace reprise

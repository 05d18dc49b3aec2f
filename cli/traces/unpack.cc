// reprise unpack: a package back into a trace set, verified.
#include "converters/share/package/unpack.h"

#include <fmt/format.h>

#include <memory>

#include "cli/program/commands.h"
#include "cli/program/number_checks.h"
#include "core/counted.h"
#include "core/shown_text.h"

namespace reprise {

CommandBody RegisterUnpack(CLI::App& app, const CommandContext& /*context*/) {
  auto request = std::make_shared<UnpackRequest>();
  app.description("Verify a package and write its trace set");
  app.add_option("PACKAGE", request->package, "file that `pack` wrote")->required();
  app.add_option("-o,--output", request->directory, "directory to create")->required();
  app.add_option("--max-bytes", request->limits.bytes, "limit on unpacked bytes")
      ->check(Positive())
      ->capture_default_str();
  app.add_option("--max-files", request->limits.files, "limit on files")
      ->check(Positive())
      ->capture_default_str();
  app.add_option("--max-ratio", request->limits.ratio,
                 "limit on unpacked bytes for each packed byte")
      ->check(Positive())
      ->capture_default_str();
  app.add_flag("--force", request->force, "replace the output of an earlier unpack");
  return [request]() -> Result<int> {
    REPRISE_ASSIGN(const PackageManifest manifest, Unpack(*request));
    fmt::print("{}: {}, all as their checksums say\n", ShownText(request->directory),
               Counted(manifest.files.size(), "file"));
    fmt::print("policy: {}\n",
               manifest.policy.empty() ? "none, not anonymized" : ShownText(manifest.policy));
    if (!manifest.licence.empty()) {
      fmt::print("licence: see {}\n", ShownText(manifest.licence));
    }
    return 0;
  };
}

}  // namespace reprise

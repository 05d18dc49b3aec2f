#include "converters/share/package/package_manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <set>

#include "core/input_file.h"
#include "core/parse_json.h"

namespace reprise {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kFormat[] = "reprise-package-1";

Status CheckFiles(const PackageManifest& manifest, const std::string& origin) {
  std::set<std::string> paths = {kManifestFile};
  for (const PackagedFile& file : manifest.files) {
    if (!IsPackagePath(file.path)) {
      return BadInput(fmt::format("{}: {} lists a path that no package may have: '{}'", origin,
                                  kManifestFile, file.path));
    }
    if (!paths.insert(file.path).second) {
      return BadInput(fmt::format("{}: {} lists '{}' twice", origin, kManifestFile, file.path));
    }
  }
  return {};
}

}  // namespace

bool IsPackagePath(std::string_view path) {
  constexpr std::size_t kMax = 200;
  return !path.empty() && path.size() <= kMax && path.front() != '.' && path.front() != '-' &&
         std::all_of(path.begin(), path.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' ||
                  c == '-';
         });
}

std::string ShownPath(std::string_view path) {
  constexpr std::size_t kMax = 80;
  std::string shown(path.substr(0, kMax));
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return shown + (path.size() > kMax ? "..." : "");
}

std::string ManifestText(const PackageManifest& manifest) {
  Json files = Json::array();
  for (const PackagedFile& file : manifest.files) {
    files.push_back({{"path", file.path}, {"bytes", file.bytes}, {"sha256", file.sha256}});
  }
  Json policy = nullptr;
  if (!manifest.policy.empty()) {
    policy = {{"name", manifest.policy},
              {"sha256", manifest.policy_sha256},
              {"durations", manifest.durations},
              {"shapes", manifest.shapes}};
  }
  const Json json = {{"format", kFormat},
                     {"name", manifest.name},
                     {"et_format", manifest.et_format},
                     {"reprise_version", manifest.reprise_version},
                     {"policy", std::move(policy)},
                     {"licence", manifest.licence.empty() ? Json() : Json(manifest.licence)},
                     {"files", std::move(files)}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<PackageManifest> ParseManifest(const std::string& text, const std::string& origin) {
  PackageManifest manifest;
  REPRISE_TRY(CheckJsonText(text, fmt::format("{}: {}", origin, kManifestFile)));
  try {
    const Json json = ParseJson<Json>(text);
    const auto format = json.at("format").get<std::string>();
    if (format != kFormat) {
      return BadInput(fmt::format(
          "{}: {}: format '{}', expected '{}': another version of Reprise packed it; unpack it "
          "with that one, or ask for a new package",
          origin, kManifestFile, ShownPath(format), kFormat));
    }
    manifest.name = json.at("name").get<std::string>();
    manifest.et_format = json.at("et_format").get<std::int32_t>();
    manifest.reprise_version = json.at("reprise_version").get<std::string>();
    if (const Json& policy = json.at("policy"); !policy.is_null()) {
      manifest.policy = policy.at("name").get<std::string>();
      manifest.policy_sha256 = policy.at("sha256").get<std::string>();
      manifest.durations = policy.at("durations").get<std::string>();
      manifest.shapes = policy.at("shapes").get<std::string>();
    }
    if (const Json& licence = json.at("licence"); !licence.is_null()) {
      manifest.licence = licence.get<std::string>();
    }
    for (const Json& file : json.at("files")) {
      manifest.files.push_back({.path = file.at("path").get<std::string>(),
                                .bytes = file.at("bytes").get<std::uint64_t>(),
                                .sha256 = file.at("sha256").get<std::string>()});
    }
  } catch (const nlohmann::json::exception& error) {
    return BadInput(fmt::format("{}: {}: {}", origin, kManifestFile, error.what()));
  }
  REPRISE_TRY(CheckFiles(manifest, origin));
  return manifest;
}

}  // namespace reprise

// What of a run tells who made it, where and when. Runs of anonymized sets leave it out
// (docs/run_format.md, "Provenance").
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/enum_names.h"

namespace reprise {

enum class Provenance : std::uint8_t { kFull, kNone };
REPRISE_NAMES(Provenance, "full", "none");

// What Provenance::kNone makes of a value.
enum class ProvenanceRule : std::uint8_t {
  kLeftOut,    // empty, 0, or no row
  kNumbered,   // "host0", "host1", … in the order of their first ranks
  kFileNames,  // of each path the last name stays
  kShortened,  // up to the first '-' or '+'
  kNoAddress,  // "enx" of the network interface "enx0a1b2c3d4e5f"
};
REPRISE_NAMES(ProvenanceRule, "left out", "numbered", "names of files only", "shortened",
              "without hardware addresses");

struct ProvenanceField {
  // "manifest.json", or a table of report/run/schema.def.
  std::string_view table;
  // A key, "key.key"; a column; of `facts` the fact's name, all of a prefix where it ends in ".".
  std::string_view field;
  ProvenanceRule rule;
  std::string_view reason;  // the cell of docs/run_format.md
};

// The one list of them: everything else stays. Times are of CLOCK_MONOTONIC, which counts from the
// host's start; bus ids say the slot and are the same in all machines of a model.
inline constexpr auto kProvenanceFields = std::to_array<ProvenanceField>({
    {"manifest.json", "command", ProvenanceRule::kLeftOut, "paths, options, the program's place"},
    {"manifest.json", "trace_path", ProvenanceRule::kLeftOut, "path"},
    {"manifest.json", "started_at", ProvenanceRule::kLeftOut, "time of day"},
    {"manifest.json", "hosts", ProvenanceRule::kNumbered, "names of hosts"},
    {"manifest.json", "versions.kernel", ProvenanceRule::kShortened,
     "a kernel's release may name who built it"},
    {"manifest.json", "versions.device_version", ProvenanceRule::kShortened,
     "of backend `host` the same"},
    {"ranks", "host", ProvenanceRule::kNumbered, "name of a host"},
    {"ranks", "pid", ProvenanceRule::kLeftOut, "process id"},
    {"devices", "uuid", ProvenanceRule::kLeftOut, "one device of all"},
    {"meters", "uuid", ProvenanceRule::kLeftOut, "one device of all"},
    {"metrics", "device", ProvenanceRule::kNoAddress, "some network interfaces are named by it"},
    {"metrics", "help", ProvenanceRule::kNoAddress, "likewise"},
    {"facts", "host", ProvenanceRule::kNumbered, "name of a host"},
    {"facts", "device_reason", ProvenanceRule::kFileNames, "messages of drivers may have paths"},
    {"facts", "wall_readings", ProvenanceRule::kLeftOut, "time of day"},
    {"facts", "ended_by", ProvenanceRule::kFileNames, "messages have paths"},
    {"facts", "ended_at_ns", ProvenanceRule::kLeftOut, "time of day"},
    {"facts", "telemetry.", ProvenanceRule::kFileNames, "messages have paths"},
});

// The rule of a field, if it has one.
[[nodiscard]] const ProvenanceField* FindProvenanceField(std::string_view table,
                                                         std::string_view field);

// Of a rank's file: what becomes of its rows.
struct RankProvenance {
  Provenance provenance = Provenance::kFull;
  int host = 0;  // number of the rank's host, in the order of their first ranks
};

// "host0".
[[nodiscard]] std::string NumberedHostName(int number);
// Every path in a text without its directories. A path begins with '/', './', '../' or '~/', or has
// two '/'.
[[nodiscard]] std::string FileNamesOnly(std::string_view text);
// What a rule makes of a text; `host`: what the host's name becomes.
[[nodiscard]] std::string WithoutProvenance(ProvenanceRule rule, std::string_view text,
                                            std::string_view host);

}  // namespace reprise

// What a directory holds, so that one kind of output never takes another's place.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/enum_names.h"
#include "core/result.h"

namespace reprise {

enum class OutputKind : std::uint8_t { kTraceSet, kRun, kUnpackedPackage };
REPRISE_NAMES(OutputKind, "trace set", "run", "unpacked package");

// Whether a file of that name holds a rank's trace: .et, .et.gz, .et.zst.
[[nodiscard]] bool IsEtFileName(std::string_view name);

// Whether a file of that name belongs to a trace set, so that a new set in its place replaces it.
[[nodiscard]] bool IsTraceSetFile(std::string_view name);

// The file that marks a directory as complete output of ours: checksums.xxh128. Its first line
// names the kind.
inline constexpr char kChecksumsFile[] = "checksums.xxh128";
// What a generated set keeps of its job: numbers that its nodes do not say
// (predict/workload/job/facts.h).
inline constexpr char kJobFile[] = "job.json";
// What a rescaled set was made from, and how (predict/rescale/rescale.h).
inline constexpr char kRescaledFile[] = "rescaled.json";
// What a set was made from by which rules (predict/transform/transform.h).
inline constexpr char kTransformedFile[] = "transformed.json";
// Beside the traces of an anonymized set: under which policy (converters/share/anonymize).
inline constexpr char kAnonymizedFile[] = "anonymized.json";
// "# reprise trace set 1".
[[nodiscard]] std::string MarkerLine(OutputKind kind);

// Usage error if the result of a set would take the place of the set itself.
[[nodiscard]] Status CheckIsAnother(const std::string& set, const std::string& result);

// Usage error if `directory` exists and is no directory; if it holds anything, unless `force`; and
// with `force`, if what it holds is not of this kind: without a marker (checksums.xxh128, a
// manifest's "format") names decide (`.et`, `rank<N>.sqlite`), as outputs of earlier versions have
// none.
[[nodiscard]] Status CheckReplaceable(const std::string& directory, OutputKind kind, bool force);

}  // namespace reprise

#include "report/stored_sums.h"

#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

#include "core/checksums.h"
#include "core/stored_values.h"
#include "core/temporary_output.h"
#include "report/in_order.h"
#include "report/run/provenance.h"
#include "report/run/rank_reader.h"
#include "report/run/run.h"
#include "report/run/schema.h"
#include "report/stored_enums.h"

namespace reprise {
namespace {

// What sums are of. Others are of no use.
struct SumsOrigin {
  std::string format = "reprise-sums-1";
  std::string program, manifest, rank_file;  // checksums
  std::int32_t iteration = -1;               // of MedianPass
  bool operator==(const SumsOrigin&) const = default;
};

bool HasSums(const std::string& path, const SumsOrigin& origin) {
  const std::optional<std::string> bytes = ReadWithOwnChecksum(path);
  if (!bytes) {
    return false;
  }
  ValueReader read(*bytes);
  SumsOrigin found;
  read(found);
  return read.ok() && found == origin;
}

std::optional<MedianPass> PassOf(const std::vector<RankData>& ranks) {
  std::vector<MeasuredRank> measured;
  measured.reserve(ranks.size());
  for (const RankData& rank : ranks) {
    measured.emplace_back(rank);
  }
  return FindMedianPass(measured);
}

// What the sums of all ranks need.
struct SumsBasis {
  const std::string& directory;
  RunManifest manifest;
  Checksums checksums;
  MedianPass pass;
};

Status WriteSums(const SumsBasis& basis, int rank) {
  const auto checksum_of = [&basis](const std::filesystem::path& path) {
    const auto found = basis.checksums.sums().find(path.filename());
    return found == basis.checksums.sums().end() ? "" : found->second;
  };
  const SumsOrigin origin{.program = ChecksumOfProgram(),
                          .manifest = checksum_of(ManifestPath(basis.directory)),
                          .rank_file = checksum_of(RankPath(basis.directory, rank)),
                          .iteration = basis.pass.iteration};
  if (origin.program.empty() || origin.manifest.empty() || origin.rank_file.empty()) {
    return {};
  }
  const std::string path = SumsPath(basis.directory, rank);
  if (HasSums(path, origin)) {
    return {};
  }
  std::vector<std::string> notes;
  REPRISE_ASSIGN(const RankData data,
                 ReadRankFile(basis.directory, rank, RankContent::kWhole, origin.rank_file, notes));
  std::string bytes;
  ValueWriter write(bytes);
  write(origin);
  write(SumsOfRank(MeasuredRank(data), basis.manifest, basis.pass));
  REPRISE_ASSIGN(TemporaryOutput draft, TemporaryOutput::File(path));
  std::ofstream file(draft.path(), std::ios::binary);
  file << bytes;
  file.close();
  if (!file) {
    return EnvironmentError(path + ": cannot be written");
  }
  REPRISE_TRY(AppendOwnChecksum(draft.path()));
  return draft.Publish();
}

}  // namespace

Status StoreSums(const std::string& directory, std::span<const std::int32_t> ranks,
                 std::int64_t least_bytes, std::size_t most) {
  std::vector<std::int32_t> large;
  for (const std::int32_t rank : ranks) {
    std::error_code error;
    const auto bytes = std::filesystem::file_size(RankPath(directory, rank), error);
    if (!error && static_cast<std::int64_t>(bytes) >= least_bytes) {
      large.push_back(rank);
    }
  }
  REPRISE_ASSIGN(RunManifest manifest, ReadManifest(directory));
  if (large.empty() || !manifest.complete || manifest.world_size < 2 ||
      manifest.provenance != Name(Provenance::kFull)) {
    return {};
  }
  REPRISE_ASSIGN(const std::vector<RankData> steps, ReadMergedSteps(directory));
  const auto pass = PassOf(steps);
  if (!pass || std::ssize(steps) != manifest.world_size) {
    return {};
  }
  REPRISE_ASSIGN(Checksums checksums, Checksums::Read(directory));
  const SumsBasis basis{directory, std::move(manifest), std::move(checksums), *pass};
  return ForEachInOrder(
      large.size(), most,
      [&](std::size_t i) -> Result<bool> {
        REPRISE_TRY(WriteSums(basis, large[i]));
        return true;
      },
      [](bool /*written*/) {});
}

Result<std::optional<RankSums>> ReadSums(const RunReader& reader, int rank,
                                         const MedianPass& pass) {
  const std::string path = SumsPath(reader.directory(), rank);
  const std::string manifest = reader.VerifiedChecksum(ManifestPath(reader.directory()));
  const std::string rank_file = reader.VerifiedChecksum(RankPath(reader.directory(), rank));
  std::error_code error;
  if (manifest.empty() || rank_file.empty() || !std::filesystem::is_regular_file(path, error)) {
    return std::nullopt;
  }
  const auto unusable = [&path](const char* why) { return BadInput(path + ": " + why); };
  const std::optional<std::string> bytes = ReadWithOwnChecksum(path);
  if (!bytes) {
    return unusable("damaged");
  }
  ValueReader read(*bytes);
  SumsOrigin origin{.format = {}};
  read(origin);
  if (origin.format != SumsOrigin().format || origin.program != ChecksumOfProgram()) {
    return unusable("of another version of the program");
  }
  if (origin.manifest != manifest || origin.rank_file != rank_file ||
      origin.iteration != pass.iteration) {
    return unusable("of another run");
  }
  std::optional<RankSums> sums(std::in_place);
  read(*sums);
  return read.AtEnd() ? Result<std::optional<RankSums>>(std::move(sums)) : unusable("damaged");
}

}  // namespace reprise

#include <fmt/format.h>

#include <filesystem>
#include <vector>

#include "core/checksums.h"
#include "et_schema/byte_stream.h"
#include "et_schema/stream_hash.h"
#include "et_schema/trace_set.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

// Content is uncompressed, so that packing a trace does not make it another one.
Result<std::string> HashOfFile(const std::string& path) {
  constexpr std::size_t kChunkBytes = std::size_t{1} << 16;
  StreamHash hash;
  std::vector<std::uint8_t> chunk(kChunkBytes);
  REPRISE_ASSIGN(const auto source, ByteSource::Open(path));
  while (true) {
    REPRISE_ASSIGN(const std::size_t got, source->Read(chunk));
    if (got == 0) {
      break;
    }
    hash.Add({reinterpret_cast<const char*>(chunk.data()), got});
  }
  return hash.Hex();
}

// "<hash>/<file>" a line: hashes are of one length, so no two sets give the same text.
// `hash_of_rank`: of each rank that the set has.
template <typename HashOfRank>
Result<std::string> HashOfSet(const TraceSet& set, const HashOfRank& hash_of_rank) {
  std::string lines;
  for (const std::int32_t rank : set.Ranks()) {
    lines += fmt::format("{}/{}.{}\n", hash_of_rank(rank), set.name, rank);
  }
  for (const char* file : {kGroupsFile, kGroupsInfoFile, kRanksFile}) {
    const std::string path = (fs::path(set.directory) / file).string();
    std::error_code code;
    if (fs::exists(path, code)) {
      REPRISE_ASSIGN(const std::string hash, HashOfFile(path));
      lines += fmt::format("{}/{}\n", hash, file);
    }
  }
  return HashOfText(lines);
}

}  // namespace

std::string HashOfText(std::string_view text) { return ChecksumOfBytes(text); }

Result<std::string> TraceSet::FileHash(std::int32_t rank) const {
  const std::string path = RankPath(rank);
  REPRISE_ASSIGN(const std::optional<FoldedRank> folded, FindFoldedRank(path));
  return HashOfFile(folded ? folded->file : path);
}

Result<std::string> TraceSet::ContentHash() const {
  if (classes) {
    std::vector<std::string> by_class;
    for (const RankClass& one : classes->classes()) {
      REPRISE_ASSIGN(by_class.emplace_back(), FileHash(one.ranks.front().first));
    }
    return HashOfSet(*this, [&](std::int32_t rank) -> const std::string& {
      return by_class[classes->IndexOf(rank)];
    });
  }
  std::map<std::int32_t, std::string> hashes;
  for (const auto& [rank, path] : files) {
    REPRISE_ASSIGN(hashes[rank], FileHash(rank));
  }
  return ContentHash(hashes);
}

Result<std::string> TraceSet::ContentHash(
    const std::map<std::int32_t, std::string>& file_hashes) const {
  return HashOfSet(*this,
                   [&](std::int32_t rank) -> const std::string& { return file_hashes.at(rank); });
}

}  // namespace reprise

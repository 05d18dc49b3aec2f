#include <fmt/format.h>
#include <xxhash.h>

#include <filesystem>
#include <memory>
#include <vector>

#include "et_schema/byte_stream.h"
#include "et_schema/groups.h"
#include "et_schema/trace_set.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

// Name, content, and an end mark that neither can contain ambiguously: the content's length.
// Content is uncompressed, so that packing a trace does not make it another one.
Status AddFile(const std::string& path, std::string_view name, XXH3_state_t& state) {
  constexpr std::size_t kChunkBytes = std::size_t{1} << 16;
  std::vector<std::uint8_t> chunk(kChunkBytes);
  REPRISE_ASSIGN(const auto source, ByteSource::Open(path));
  std::uint64_t total = 0;
  while (true) {
    REPRISE_ASSIGN(const std::size_t got, source->Read(chunk));
    if (got == 0) {
      break;
    }
    XXH3_128bits_update(&state, chunk.data(), got);
    total += got;
  }
  const std::string mark = fmt::format("/{}/{}", total, name);
  XXH3_128bits_update(&state, mark.data(), mark.size());
  return {};
}

}  // namespace

Result<std::string> TraceSet::ContentHash() const {
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(),
                                                                       &XXH3_freeState);
  XXH3_128bits_reset(state.get());
  for (const auto& [rank, path] : files) {
    REPRISE_TRY(AddFile(path, fmt::format("{}.{}", name, rank), *state));
  }
  for (const char* file : {kGroupsFile, kGroupsInfoFile}) {
    const std::string path = (fs::path(directory) / file).string();
    std::error_code code;
    if (fs::exists(path, code)) {
      REPRISE_TRY(AddFile(path, file, *state));
    }
  }
  const XXH128_hash_t hash = XXH3_128bits_digest(state.get());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace reprise

// Frames of pieces, compressed side by side: the same bytes by any number of processes.
#include "converters/share/package/compressed_pieces.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include <fstream>
#include <iterator>
#include <random>

#include "core/file_descriptor.h"
#include "core/temporary_output.h"
#include "tests/core/thread_processes.h"
#include "tests/et_schema/scratch_directory.h"

namespace reprise {
namespace {

constexpr std::size_t kPieceBytes = 1000;

std::string BytesOf(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Half of it random: no piece is like another.
std::string SomeBytes(std::size_t size) {
  std::mt19937 random(7);
  std::string bytes(size, 'x');
  for (std::size_t i = 0; i < size; i += 2) {
    bytes[i] = static_cast<char>(random());
  }
  return bytes;
}

std::string Compressed(const std::string& bytes, int count, std::size_t by) {
  const ScratchDirectory scratch;
  const std::string output = scratch.File("output");
  EXPECT_TRUE(WriteTextFile(output, ""));
  OnProcesses(count, [&](Processes& processes) {
    const std::string own = scratch.File(std::to_string(processes.index()));
    const FileDescriptor file(::open(own.c_str(), O_RDWR | O_CREAT, 0600));
    CompressedPieces pieces(file.get(), own, processes, kPieceBytes);
    for (std::size_t at = 0; at < bytes.size(); at += by) {
      ASSERT_TRUE(pieces.Add(std::string_view(bytes).substr(at, by)));
    }
    ASSERT_TRUE(pieces.Finish());
    const Status joined = JoinFrames(file.get(), pieces.frame_bytes(), output, processes);
    ASSERT_TRUE(joined) << joined.error().message;
  });
  return BytesOf(output);
}

TEST(CompressedPieces, AreTheSameByAnyNumberOfProcesses) {
  for (const std::size_t size : {0UL, 1UL, 999UL, 1000UL, 1001UL, 2000UL, 12'345UL}) {
    const std::string bytes = SomeBytes(size);
    const std::string alone = Compressed(bytes, 1, 4096);
    std::string back(size, '\0');
    ASSERT_EQ(ZSTD_decompress(back.data(), size, alone.data(), alone.size()), size);
    EXPECT_EQ(back, bytes);
    for (const int count : {2, 3, 20}) {
      EXPECT_EQ(Compressed(bytes, count, 333), alone) << size << " by " << count;
    }
  }
}

TEST(CompressedPieces, AFileThatCannotBeWrittenIsNamed) {
  const FileDescriptor full(::open("/dev/full", O_WRONLY));
  CompressedPieces pieces(full.get(), "out.reprise", OneProcess(), kPieceBytes);
  Status status = pieces.Add(SomeBytes(10 * kPieceBytes));
  status = status ? pieces.Finish() : status;
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::kEnvironment);
  EXPECT_NE(status.error().message.find("out.reprise: cannot be written"), std::string::npos);
}

}  // namespace
}  // namespace reprise

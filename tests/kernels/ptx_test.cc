// gemm_mma.cl as NVIDIA's assembler sees it: compiled to PTX by clang, assembled for every
// architecture that it is meant for. Needs clang with the NVPTX target and ptxas of a CUDA toolkit;
// no GPU.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "kernels/ops/products/gemm_mma.h"
#include "kernels/ops/products/gemm_tiles.h"
#include "kernels/program_sources.h"
#include "tests/skip.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

constexpr int kRegistersOfAThread = 255;
constexpr int kRegistersOfAnSm = 65536;
constexpr int kLocalBytes = 49152;
constexpr const char* kArchitectures[] = {"sm_80", "sm_90"};

struct Output {
  int code = -1;
  std::string text;
};

Output RunShell(const std::string& command) {
  Output output;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) {
    return output;
  }
  std::array<char, 4096> buffer = {};
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) {
    output.text += buffer.data();
  }
  output.code = pclose(pipe);
  return output;
}

std::string FindClang() {
  for (const char* name : {"clang-14", "clang", "clang-15", "clang-16"}) {
    const Output targets = RunShell(std::string(name) + " --print-targets");
    if (targets.code == 0 && targets.text.find("nvptx64") != std::string::npos) {
      return name;
    }
  }
  return "";
}

std::string FindPtxas() {
  std::vector<std::string> places = {"ptxas", "/usr/local/cuda/bin/ptxas"};
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* home = std::getenv(variable)) {
      places.push_back(std::string(home) + "/bin/ptxas");
    }
  }
  for (const std::string& place : places) {
    if (RunShell(place + " --version").code == 0) {
      return place;
    }
  }
  return "";
}

int NumberBefore(const std::string& text, const std::string& words) {
  std::smatch match;
  return std::regex_search(text, match, std::regex("([0-9]+) " + words)) ? std::stoi(match[1]) : -1;
}

std::size_t Count(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

class Ptx : public ::testing::Test {
 protected:
  void SetUp() override {
    clang_ = FindClang();
    ptxas_ = FindPtxas();
    if (clang_.empty()) {
      REPRISE_SKIP("nvptx", "clang has no such target");
    }
    if (ptxas_.empty()) {
      REPRISE_SKIP("ptxas", "no CUDA toolkit is installed");
    }
    directory_ = fs::path(REPRISE_BINARY_DIR) / "test_ptx";
    fs::create_directories(directory_);
    const auto source = ProgramSource("gemm_mma.cl");
    ASSERT_TRUE(source);
    std::ofstream(directory_ / "gemm_mma.cl") << *source;
  }

  // The PTX of the program with these options; empty, and a failure, if it does not compile.
  [[nodiscard]] std::string Compile(const std::string& options) const {
    const fs::path ptx = directory_ / "gemm_mma.ptx";
    const Output done = RunShell(
        clang_ + " -x cl -cl-std=CL1.2 -cl-mad-enable -w -O3 -S -target nvptx64-nvidia-cuda" +
        " -Xclang -target-cpu -Xclang sm_80 -Xclang -target-feature -Xclang +ptx70" +
        " -Xclang -finclude-default-header -Xclang -cl-ext=+cl_khr_fp16" + " -include " +
        REPRISE_SOURCE_DIR "/tests/kernels/ptx/builtins.h" +
        " -DDEVICE_IS_CPU=0 -DHAVE_FP64=1 -DHAVE_FP16=0 " + options + " -o " + ptx.string() + " " +
        (directory_ / "gemm_mma.cl").string());
    EXPECT_EQ(done.code, 0) << done.text;
    std::ostringstream text;
    text << std::ifstream(ptx).rdbuf();
    return text.str();
  }

  // Assembles what Compile() left.
  void Assemble(int threads) const {
    for (const char* architecture : kArchitectures) {
      SCOPED_TRACE(architecture);
      const Output done = RunShell(ptxas_ + " -v -arch=" + architecture + " -o " +
                                   (directory_ / "gemm_mma.cubin").string() + " " +
                                   (directory_ / "gemm_mma.ptx").string());
      ASSERT_EQ(done.code, 0) << done.text;
      EXPECT_EQ(NumberBefore(done.text, "bytes stack frame"), 0) << done.text;
      EXPECT_EQ(NumberBefore(done.text, "bytes spill stores"), 0) << done.text;
      EXPECT_EQ(NumberBefore(done.text, "bytes spill loads"), 0) << done.text;
      EXPECT_LE(NumberBefore(done.text, "bytes smem"), kLocalBytes) << done.text;
      std::smatch match;
      ASSERT_TRUE(std::regex_search(done.text, match, std::regex("Used ([0-9]+) registers")));
      const int registers = std::stoi(match[1]);
      EXPECT_LE(registers, kRegistersOfAThread);
      EXPECT_LE(registers * threads, kRegistersOfAnSm);
    }
  }

  // What MmaLaunch() makes of a product with this tile: compiled, assembled, and looked through.
  void Check(DType dtype, const GemmTile& tile, const std::string& layout, std::int64_t odd = 0) {
    SCOPED_TRACE(::testing::Message()
                 << Name(dtype) << " " << layout << " " << tile.m << "x" << tile.n << "x" << tile.k
                 << " warps " << tile.warp_m << "x" << tile.warp_n << " stages " << tile.stages);
    constexpr std::int64_t kSize = 256;
    const auto operand = [&](char order) {
      const std::int64_t pitch = kSize + odd;
      return order == 'n' ? GemmOperand{nullptr, dtype, 0, {0, 0}, {pitch, 0, 0}, {1, 0, 0}}
                          : GemmOperand{nullptr, dtype, 0, {0, 0}, {1, 0, 0}, {pitch, 0, 0}};
    };
    GemmProblem problem;
    problem.m = problem.n = problem.k = kSize;
    problem.a = operand(layout[0]);
    problem.b = operand(layout[1]);
    problem.d = operand('n');
    DeviceInfo gpu;
    gpu.tensor_cores = true;
    gpu.tuning.allow_tf32 = true;
    gpu.tuning.gemm = {{"gemm_mma", dtype, layout, "small", tile}};
    const auto launch = MmaLaunch(problem, gpu);
    ASSERT_TRUE(launch);
    const std::string ptx = Compile(launch->options);
    const std::string mma = dtype == DType::kBFloat16 ? "mma.sync.aligned.m16n8k16.row.col.f32.bf16"
                            : dtype == DType::kFloat16
                                ? "mma.sync.aligned.m16n8k16.row.col.f32.f16"
                                : "mma.sync.aligned.m16n8k8.row.col.f32.tf32";
    const int steps = tile.k * static_cast<int>(SizeOf(dtype)) / 32;
    EXPECT_EQ(Count(ptx, mma),
              static_cast<std::size_t>(tile.warp_m / 16 * (tile.warp_n / 8) * steps));
    EXPECT_GT(Count(ptx, "cp.async.wait_group " + std::to_string(tile.stages - 2)), 0U);
    EXPECT_GT(Count(ptx, dtype == DType::kFloat32 && layout == "tn" ? "ld.shared.u32" : "ldmatrix"),
              0U);
    EXPECT_EQ(Count(ptx, "call.uni"), 0U);  // nothing was left to a library
    Assemble(static_cast<int>(launch->local[0]));
  }

  std::string clang_, ptxas_;
  fs::path directory_;
};

TEST_F(Ptx, EveryTileAssembles) {
  constexpr const char* kLayouts[] = {"nn", "nt", "tn", "tt"};
  for (const DType dtype : {DType::kBFloat16, DType::kFloat32}) {
    std::size_t i = 0;
    for (const GemmTile& tile : GemmTileCandidates("gemm_mma", dtype)) {
      Check(dtype, tile, kLayouts[++i % 4]);
    }
  }
}

TEST_F(Ptx, EveryTypeAndLayoutAssembles) {
  for (const DType dtype : {DType::kBFloat16, DType::kFloat16, DType::kFloat32}) {
    const GemmTile tile = GemmTileCandidates("gemm_mma", dtype).front();
    for (const char* layout : {"nn", "nt", "tn", "tt"}) {
      Check(dtype, tile, layout);
    }
    Check(dtype, tile, "nn", 2);  // rows at boundaries of 4 bytes
    Check(dtype, tile, "tn", 1);  // and at none
  }
}

}  // namespace
}  // namespace reprise

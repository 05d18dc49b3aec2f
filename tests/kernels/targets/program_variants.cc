// Which programs the kernels launch on a GPU: every pair of a program and its options, with the
// entries that are launched of it. No GPU and no driver is needed: calls are lowered for devices
// that are only described.
//   program_variants DIRECTORY        writes DIRECTORY/<program>, with all that it includes, and
//                                     DIRECTORY/variants.json; scripts/check_targets compiles them
//   program_variants DIRECTORY --ptx  compiles them for NVIDIA's GPUs, as the CUDA backend reads
//                                     them; needs clang and libclc
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/json_fields.h"
#include "core/parallel.h"
#include "kernels/bench/kernel_bench.h"
#include "kernels/cuda/ptx_compiler.h"
#include "kernels/disk_cache.h"
#include "kernels/ops/products/gemm_launch.h"
#include "kernels/ops/products/gemm_mma.h"
#include "kernels/ops/products/gemm_tiles.h"
#include "kernels/program_lowering.h"
#include "kernels/program_options.h"
#include "kernels/program_sources.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

constexpr DType kProductTypes[] = {DType::kBFloat16, DType::kFloat16, DType::kFloat32};

// Holds every tensor, and has no memory.
class DescribedBuffer final : public Buffer {
 public:
  [[nodiscard]] std::int64_t size_bytes() const override {
    return std::numeric_limits<std::int64_t>::max() / 2;
  }
  [[nodiscard]] std::byte* host_data() override { return nullptr; }
};

// One for each storage.
class DescribedMemory final : public Bindings {
 public:
  [[nodiscard]] Buffer* Find(std::int64_t incarnation) const override {
    return &buffers_[incarnation];
  }

 private:
  mutable std::map<std::int64_t, DescribedBuffer> buffers_;
};

// What lowering for a device needs, which is not here.
class Described {
 public:
  explicit Described(const DeviceInfo& device)
      : context{memory_, device,
                [this](int, std::int64_t) -> Result<Buffer*> { return &scratch_; }} {}

 private:
  DescribedMemory memory_;
  DescribedBuffer scratch_;

 public:
  const LowerContext context;
};

// A GPU as its OpenCL driver describes it; `name` is the compiler's for its instruction set.
DeviceInfo Gpu(std::string name, int compute_units, std::size_t max_work_group_size) {
  DeviceInfo info;
  info.name = std::move(name);
  info.compute_units = compute_units;
  info.max_work_group_size = max_work_group_size;
  info.fp64 = true;
  info.rounds_division = true;
  return info;
}

std::vector<DeviceInfo> Targets() {
  std::vector<DeviceInfo> targets = {Gpu("sm_80", 108, 1024), Gpu("sm_90", 132, 1024),
                                     Gpu("gfx90a", 110, 256)};
  for (DeviceInfo& info : targets) {
    const bool nvidia = info.name.starts_with("sm_");
    info.tensor_cores = nvidia;
    info.fp16 = !nvidia;  // NVIDIA's OpenCL has no cl_khr_fp16
  }
  return targets;
}

// Of one entry, the most of all its launches.
struct EntryUse {
  std::size_t work_items = 0;  // of a work-group; 0: the driver chooses
};

// What must be in the program's assembly; 0: any number of times, but at least once.
using Instructions = std::map<std::string, int>;

struct Variant {
  std::map<std::string, EntryUse> entries;
  Instructions instructions;
};

class Variants {
 public:
  explicit Variants(const DeviceInfo& target) : target_(target) {}

  void Add(const Launch& launch, Instructions instructions = {}) {
    const auto* program = std::get_if<DeviceKernel>(&launch);
    if (program == nullptr) {
      return;
    }
    const auto first = program->options.find_first_not_of(' ');
    const std::string options = first == std::string::npos ? "" : program->options.substr(first);
    const std::pair key(program->program, options);
    const auto [at, is_new] = places_.try_emplace(key, rows_.size());
    if (is_new) {
      rows_.emplace_back(key, Variant());
    }
    Variant& variant = rows_[at->second].second;
    variant.instructions.merge(std::move(instructions));
    EntryUse& use = variant.entries[program->entry];
    const auto& local = program->local;
    use.work_items = std::max(use.work_items, local[0] * std::max<std::size_t>(local[1], 1) *
                                                  std::max<std::size_t>(local[2], 1));
  }

  [[nodiscard]] const DeviceInfo& target() const { return target_; }

  [[nodiscard]] Json ToJson() const {
    Json rows = Json::array();
    for (const auto& [key, variant] : rows_) {
      Json entries = Json::object();
      for (const auto& [name, use] : variant.entries) {
        entries[name] = {{"work_items", use.work_items}};
      }
      rows.push_back({{"program", key.first},
                      {"options", key.second},
                      {"entries", std::move(entries)},
                      {"instructions", variant.instructions}});
    }
    return rows;
  }

  void AddPrograms(std::set<std::string>& programs) const {
    for (const auto& [key, variant] : rows_) {
      programs.insert(key.first);
    }
  }

 private:
  DeviceInfo target_;
  std::map<std::pair<std::string, std::string>, std::size_t> places_;
  std::vector<std::pair<std::pair<std::string, std::string>, Variant>> rows_;  // as found
};

Status AddCall(const Kernel& kernel, const OpCall& call, const DeviceInfo& device,
               Variants& variants) {
  const Described described(device);
  REPRISE_ASSIGN(const std::vector<Launch> launches,
                 ProgramLowering().Lower(kernel, call, described.context));
  for (const Launch& launch : launches) {
    variants.Add(launch);
  }
  return {};
}

// The calls that conformance tests and `reprise bench kernels` run.
Status AddCalls(const DeviceInfo& device, Variants& variants) {
  for (const std::unique_ptr<Kernel>& kernel : KernelRegistry::Builtin().all()) {
    for (const OpCall& call : kernel->Samples()) {
      REPRISE_TRY(AddCall(*kernel, call, device, variants));
    }
  }
  KernelBenchOptions options;
  options.dtypes.assign(std::begin(kProductTypes), std::end(kProductTypes));
  for (const KernelBenchCase& one : SelectKernelBenchCases(device, options)) {
    if (const Kernel* kernel = FindBuiltinKernel(one.call)) {
      REPRISE_TRY(AddCall(*kernel, one.call, device, variants));
    }
  }
  return {};
}

void AddProbes(Variants& variants) {
  const DeviceInfo& device = variants.target();
  const ProgramLowering lowering;
  DescribedBuffer buffer;
  constexpr std::int64_t kWords = 1 << 20;
  variants.Add(lowering.Surrogate({.words = kWords}, &buffer, device));
  variants.Add(lowering.CopyProbe(&buffer, &buffer, kWords, device));
  std::vector<DType> dtypes = {DType::kFloat32, DType::kFloat64};
  if (device.fp16) {
    dtypes.push_back(DType::kFloat16);
  }
  for (const DType dtype : dtypes) {
    variants.Add(lowering.MultiplyAdd(dtype, 1, &buffer, device).launch);
  }
}

// A product of three types; `odd`: how far rows are from the next boundary.
GemmProblem Product(const std::array<DType, 3>& abd, const std::string& layout, std::int64_t odd) {
  constexpr std::int64_t kSize = 256;
  const auto operand = [&](DType dtype, char order) {
    const std::int64_t pitch = kSize + odd;
    return order == 'n' ? GemmOperand{nullptr, dtype, 0, {0, 0}, {pitch, 0, 0}, {1, 0, 0}}
                        : GemmOperand{nullptr, dtype, 0, {0, 0}, {1, 0, 0}, {pitch, 0, 0}};
  };
  GemmProblem problem;
  problem.m = problem.n = problem.k = kSize;
  problem.a = operand(abd[0], layout[0]);
  problem.b = operand(abd[1], layout[1]);
  problem.d = operand(abd[2], 'n');
  return problem;
}

// Every type that a product takes.
Status AddProducts(Variants& variants) {
  const Described described(variants.target());
  for (const DType a : kProductTypes) {
    for (const DType b : kProductTypes) {
      for (const DType d : kProductTypes) {
        REPRISE_ASSIGN(const std::vector<Launch> launches,
                       LowerGemm(Product({a, b, d}, "nn", 0), described.context, 0));
        for (const Launch& launch : launches) {
          variants.Add(launch);
        }
      }
    }
  }
  return {};
}

// One product on tensor cores.
void AddMma(DType dtype, const GemmTile& tile, const std::string& layout, std::int64_t odd,
            Variants& variants) {
  DeviceInfo device = variants.target();
  device.tuning.allow_tf32 = true;
  device.tuning.gemm = {{"gemm_mma", dtype, layout, "small", tile}};
  const auto launch = MmaLaunch(Product({dtype, dtype, dtype}, layout, odd), device);
  if (!launch) {
    return;  // no tensor cores
  }
  const std::string mma = dtype == DType::kBFloat16  ? "mma.sync.aligned.m16n8k16.row.col.f32.bf16"
                          : dtype == DType::kFloat16 ? "mma.sync.aligned.m16n8k16.row.col.f32.f16"
                                                     : "mma.sync.aligned.m16n8k8.row.col.f32.tf32";
  const int steps = tile.k * static_cast<int>(SizeOf(dtype)) / 32;
  const bool single_words = dtype == DType::kFloat32 && layout == "tn";
  variants.Add(*launch, {{mma, tile.warp_m / 16 * (tile.warp_n / 8) * steps},
                         {fmt::format("cp.async.wait_group {}", tile.stages - 2), 0},
                         {single_words ? "ld.shared.u32" : "ldmatrix", 0}});
}

// Every tile that `reprise tune` tries, in every layout.
void AddTiles(Variants& variants) {
  for (const DType dtype : kProductTypes) {
    const std::vector<GemmTile> tiles = GemmTileCandidates("gemm_mma", dtype);
    for (const GemmTile& tile : tiles) {
      for (const char* layout : {"nn", "nt", "tn", "tt"}) {
        AddMma(dtype, tile, layout, 0, variants);
      }
    }
    AddMma(dtype, tiles.front(), "nn", 2, variants);  // rows at boundaries of 4 bytes
    AddMma(dtype, tiles.front(), "tn", 1, variants);  // and at none
  }
}

Status WriteFile(const fs::path& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  return file ? Status() : EnvironmentError("could not write " + path.string());
}

Status WriteVariants(const fs::path& directory) {
  Json targets = Json::object();
  std::set<std::string> programs;
  for (const DeviceInfo& target : Targets()) {
    Variants variants(target);
    REPRISE_TRY(AddCalls(target, variants));
    DeviceInfo with_tf32 = target;
    with_tf32.tuning.allow_tf32 = true;
    REPRISE_TRY(AddCalls(with_tf32, variants));
    REPRISE_TRY(AddProducts(variants));
    AddProbes(variants);
    AddTiles(variants);
    variants.AddPrograms(programs);
    targets[target.name] = {{"options", ProgramOptions(target)}, {"variants", variants.ToJson()}};
  }
  for (const std::string& program : programs) {
    const auto source = ProgramSource(program);
    if (!source) {
      return UsageError("there is no program " + program + " in kernels/ops");
    }
    REPRISE_TRY(WriteFile(directory / program, *source));
  }
  return WriteFile(directory / "variants.json", targets.dump(1) + "\n");
}

Status StorePtx(const std::string& program, const std::string& options, int target,
                const DiskCache& cache) {
  REPRISE_ASSIGN(const std::string key, PtxKey(program, options, target));
  REPRISE_ASSIGN(const std::string ptx, CompileToPtx(program, options, target));
  return cache.Store(key, {ptx.begin(), ptx.end()});
}

// PTX of what calls need with built-in tiles, for NVIDIA's GPUs with and without the tensor cores
// that gemm_mma.cl is for: share/reprise/programs of an installation.
Status WritePtx(const fs::path& directory) {
  const DiskCache cache(directory.string());
  for (const bool tensor_cores : {true, false}) {
    DeviceInfo device = Targets().front();
    device.tensor_cores = tensor_cores;
    Variants variants(device);
    REPRISE_TRY(AddCalls(device, variants));
    REPRISE_TRY(AddProducts(variants));
    AddProbes(variants);
    const int target = PtxTarget(tensor_cores ? kMmaCapability : 0);
    const Json rows = variants.ToJson();
    std::vector<Status> stored(rows.size());
    ForEachInParallel(rows.size(), [&](std::size_t i) {
      const auto options = rows[i]["options"].get<std::string>();
      stored[i] =
          StorePtx(rows[i]["program"], ProgramOptions(device) + " " + options, target, cache);
    });
    for (const Status& one : stored) {
      REPRISE_TRY(one);
    }
  }
  return {};
}

int Main(int argc, char** argv) {
  const bool ptx = argc == 3 && std::string_view(argv[2]) == "--ptx";
  if (argc != 2 && !ptx) {
    std::fputs("usage: program_variants DIRECTORY [--ptx]\n", stderr);
    return 2;
  }
  std::error_code code;
  fs::create_directories(argv[1], code);
  const Status written = ptx ? WritePtx(argv[1]) : WriteVariants(argv[1]);
  if (!written) {
    std::fprintf(stderr, "program_variants: %s\n", written.error().message.c_str());
    return 4;
  }
  return 0;
}

}  // namespace
}  // namespace reprise

int main(int argc, char** argv) {
  try {
    return reprise::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "program_variants: %s\n", error.what());
    return 4;
  }
}

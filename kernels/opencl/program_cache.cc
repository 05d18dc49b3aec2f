#include "kernels/opencl/program_cache.h"

#include <fmt/format.h>

#include "core/log.h"
#include "kernels/program_options.h"
#include "kernels/program_sources.h"

namespace reprise {
namespace {

constexpr std::size_t kLogCharacters = 2000;

}  // namespace

ProgramCache::ProgramCache(cl::Context context, cl::Device device, const DeviceInfo& info,
                           std::string directory)
    : context_(std::move(context)),
      device_(std::move(device)),
      device_key_(info.platform + "|" + info.name + "|" + info.driver + "|" + info.version),
      device_options_(ProgramOptions(info)),
      disk_(std::move(directory)) {}

Device::ProgramStats ProgramCache::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

Result<std::optional<cl::Program>> ProgramCache::GetOrBuild(const std::string& program,
                                                            const std::string& options, bool wait) {
  std::unique_lock lock(mutex_);
  Entry& entry = entries_[program + " " + options];
  lock.unlock();
  const std::lock_guard building(entry.mutex);
  if (!entry.program) {
    REPRISE_ASSIGN(entry.program, Build(program, options, wait));
  }
  return entry.program;
}

Result<cl::Program> ProgramCache::Get(const std::string& program, const std::string& options) {
  REPRISE_ASSIGN(const std::optional<cl::Program> built, GetOrBuild(program, options, true));
  return *built;
}

Status ProgramCache::TryGet(const std::string& program, const std::string& options) {
  REPRISE_TRY(GetOrBuild(program, options, false));
  return {};
}

Result<std::optional<cl::Program>> ProgramCache::Build(const std::string& program,
                                                       const std::string& options, bool wait) {
  const std::optional<std::string> source = ProgramSource(program);
  if (!source) {
    return UsageError("there is no program " + program + " in kernels/ops");
  }
  const std::string all_options = device_options_ + " " + options;
  const std::string key = DiskCache::Key({*source, all_options, device_key_});
  bool compiled = false;
  std::optional<cl::Program> built = FromDisk(key, all_options);
  if (!built) {
    const std::optional<DiskCache::Lock> lock = disk_.Acquire(key, wait);
    if (!lock && !wait) {
      return std::nullopt;
    }
    // Whoever held the lock before may have stored it.
    built = lock ? FromDisk(key, all_options) : std::nullopt;
    if (!built) {
      REPRISE_ASSIGN(built, Compile(program, *source, all_options));
      compiled = true;
      ToDisk(key, *built);
    }
  }
  const std::lock_guard lock(mutex_);
  ++(compiled ? stats_.compiled : stats_.from_disk);
  return built;
}

Result<cl::Program> ProgramCache::Compile(const std::string& name, const std::string& source,
                                          const std::string& options) {
  cl_int code = CL_SUCCESS;
  try {
    cl::Program program(context_, source);
    try {
      program.build({device_}, options.c_str());
      return program;
    } catch (const cl::BuildError& error) {
      code = error.err();
    } catch (const cl::Error& error) {
      code = error.err();
    }
    std::string log = program.getBuildInfo<CL_PROGRAM_BUILD_LOG>(device_);
    log.resize(std::min(log.size(), kLogCharacters));
    return EnvironmentError(fmt::format("OpenCL: compiling {} with {} failed: {}\n{}", name,
                                        options, ClErrorName(code), log));
  } catch (const cl::Error& error) {
    return tl::unexpected(ClError("creating program " + name, error.err()));
  }
}

std::optional<cl::Program> ProgramCache::FromDisk(const std::string& key,
                                                  const std::string& options) {
  std::optional<std::vector<unsigned char>> binary = disk_.Load(key);
  if (!binary) {
    return std::nullopt;
  }
  const Result<cl::Program> program = CatchCl("loading a cached program", [&] {
    cl::Program loaded(context_, std::vector<cl::Device>{device_},
                       cl::Program::Binaries{std::move(*binary)});
    loaded.build({device_}, options.c_str());
    return loaded;
  });
  if (!program) {
    // E.g. after a driver update that kept its version string.
    LogWarning(program.error().message + "; compiling again");
    disk_.Remove(key);
    return std::nullopt;
  }
  return *program;
}

void ProgramCache::ToDisk(const std::string& key, const cl::Program& program) {
  if (!disk_.enabled()) {
    return;
  }
  const auto binaries =
      CatchCl("reading a program's binary", [&] { return program.getInfo<CL_PROGRAM_BINARIES>(); });
  if (!binaries || binaries->size() != 1 || binaries->front().empty()) {
    return;
  }
  if (const Status stored = disk_.Store(key, binaries->front()); !stored) {
    LogWarning(stored.error().message);
  }
}

}  // namespace reprise

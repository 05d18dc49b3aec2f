// Modules of the stand-in: programs of kernels/ops, compiled and launched by OpenCL's CPU device.
// Under Gpu's lock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/kernels/cuda_stand_in/arena.h"

namespace cuda_stand_in {

struct Module;

// CUfunction.
struct Function {
  struct Argument {
    bool is_pointer = false;  // to global memory
    std::size_t bytes = 0;
  };

  Module* module = nullptr;
  std::string name;
  void* kernel = nullptr;  // cl_kernel, owned by the module
  std::vector<Argument> arguments;
  std::size_t local_bytes = 0;    // of a work-group's arrays
  std::size_t private_bytes = 0;  // of a work-item
};

// CUmodule.
struct Module {
  Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  ~Module();

  void* program = nullptr;                     // cl_program
  std::vector<std::shared_ptr<void>> kernels;  // cl_kernel
  std::map<std::string, Function> functions;
};

struct Grid {
  std::array<std::size_t, 3> blocks = {1, 1, 1};
  std::array<std::size_t, 3> threads = {1, 1, 1};  // of a block
};

// Nothing, with the reason in `why`, if the text names no program or it does not compile.
std::unique_ptr<Module> LoadModule(std::string_view image, std::string& why);

// Runs it to its end. `words` has each argument's bytes, a pointer's address. What is wrong, or
// nothing.
std::string RunKernel(const Function& function, const Grid& grid,
                      const std::vector<std::vector<std::byte>>& words, int device, Arena& arena);

}  // namespace cuda_stand_in

/* The CUDA driver, opened at run time, so that the library loads on machines without one. The functions are those of
 * libcuda under other names; this file declares their types, so that no CUDA header is needed. */
#ifndef GLOAMING_CUDA_DRIVER_H
#define GLOAMING_CUDA_DRIVER_H

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace gloaming {
namespace cuda {

/** A driver call failed; the message names the call and has the driver's text. */
struct CudaError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/** A release does not fit; nothing was loaded and the device is usable. */
struct DeviceMemoryError : CudaError {
  using CudaError::CudaError;
};

/** Running searches block the operation, for example by using the memory that a release needs. Nothing has changed. */
struct DeviceBusyError : DeviceMemoryError {
  using DeviceMemoryError::DeviceMemoryError;
};

/* The driver's functions as a table, so that a test can replace them. Every function returns 0 for success. */
struct Driver {
  int (*initialize)(unsigned flags);
  int (*version)(int* version);
  int (*errorText)(int status, const char** text);
  int (*deviceCount)(int* count);
  int (*device)(int* device, int ordinal);
  int (*deviceName)(char* name, int room, int device);
  int (*deviceAttribute)(int* value, int attribute, int device);
  int (*retainContext)(void** context, int device);
  int (*releaseContext)(int device);
  int (*resetContext)(int device);
  int (*setContext)(void* context);
  int (*memoryInfo)(size_t* free, size_t* total);
  int (*allocate)(uint64_t* address, size_t bytes);
  int (*free)(uint64_t address);
  int (*allocateHost)(void** memory, size_t bytes, unsigned flags);
  int (*freeHost)(void* memory);
  int (*copyIn)(uint64_t to, const void* from, size_t bytes, void* stream);
  int (*copyOut)(void* to, uint64_t from, size_t bytes, void* stream);
  int (*fill)(uint64_t to, unsigned word, size_t words, void* stream);
  int (*createStream)(void** stream, unsigned flags);
  int (*destroyStream)(void* stream);
  int (*synchronize)(void* stream);
  int (*loadModule)(void** module, const void* image);
  int (*function)(void** function, void* module, const char* name);
  int (*setFunctionAttribute)(void* function, int attribute, int value);
  int (*launch)(void* function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY,
                unsigned blockZ, unsigned sharedBytes, void* stream, void** parameters, void** extra);
};

constexpr int kOutOfMemory = 2;

/** Numbers of cuda.h, which keeps them stable. */
namespace attribute {
constexpr int kMultiprocessors = 16, kMajor = 75, kMinor = 76, kSharedBytes = 97;
constexpr int kFunctionSharedBytes = 8;
}  // namespace attribute

/* This machine's driver, initialized.
 * Errors  null, with the reason in obstacle as half a sentence, if there is none */
const Driver* systemDriver(std::string& obstacle);

/* Throws if the status is not success.
 * Errors  CudaError; DeviceMemoryError if the device ran out of memory */
void check(const Driver& driver, int status, const char* what);

}  // namespace cuda
}  // namespace gloaming

#endif

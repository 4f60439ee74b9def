"""Threads that sync files and know nothing of the interpreter. Hot path.

A thread of Python's asks for the interpreter's lock before it syncs and again to say that it has: with a sync for every
commit, that is most of what it does, and the event loop is stopped for it each time. These wait for a file, sync it,
and write to a pipe. Which files, and what a failure means, is the caller's business.
"""

from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free, malloc

import os

cdef extern from *:
    """
    #include <errno.h>
    #include <fcntl.h>
    #include <pthread.h>
    #include <signal.h>
    #include <stdint.h>
    #include <stdlib.h>
    #include <time.h>
    #include <unistd.h>

    enum { FREE, BEGUN, ENDED };

    typedef struct {
        pthread_t thread;
        pthread_mutex_t lock;
        pthread_cond_t changed;
        int pipe;          /* where an end is told */
        int is_running;
        int is_closing;
        int state;
        int *files;        /* descriptors, while it is begun or ended */
        int count;
        int error;         /* of the first that could not be synced, or 0 */
        int64_t took_ns;
    } Lane;

    static int sync_file(int descriptor) {
        int failed;
        do {
    #ifdef F_FULLFSYNC
            failed = fcntl(descriptor, F_FULLFSYNC); /* fsync leaves the data in the drive's own cache there */
    #else
            failed = fdatasync(descriptor);
    #endif
        } while (failed == -1 && errno == EINTR);
        return failed == -1 ? errno : 0;
    }

    static int64_t monotonic_ns(void) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    }

    static void *run_lane(void *given) {
        Lane *lane = given;
        pthread_mutex_lock(&lane->lock);
        for (;;) {
            while (lane->state != BEGUN && !lane->is_closing)
                pthread_cond_wait(&lane->changed, &lane->lock);
            if (lane->state != BEGUN)
                break;
            pthread_mutex_unlock(&lane->lock);
            int64_t began = monotonic_ns();
            int error = 0;
            for (int number = 0; number < lane->count && !error; number++)
                error = sync_file(lane->files[number]);
            int64_t took = monotonic_ns() - began;
            pthread_mutex_lock(&lane->lock);
            lane->error = error;
            lane->took_ns = took;
            lane->state = ENDED;
            while (write(lane->pipe, "", 1) == -1 && errno == EINTR) {}
        }
        pthread_mutex_unlock(&lane->lock);
        return NULL;
    }

    /* An error number, or 0. Signals are the main thread's. */
    static int start_lane(Lane *lane, int pipe) {
        sigset_t all, before;
        lane->pipe = pipe;
        pthread_mutex_init(&lane->lock, NULL);
        pthread_cond_init(&lane->changed, NULL);
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        int error = pthread_create(&lane->thread, NULL, run_lane, lane);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        lane->is_running = !error;
        return error;
    }

    /* Whether the lane was free. It owns the files from here on. */
    static int begin_lane(Lane *lane, int *files, int count) {
        pthread_mutex_lock(&lane->lock);
        int is_free = lane->state == FREE && !lane->is_closing;
        if (is_free) {
            lane->files = files;
            lane->count = count;
            lane->state = BEGUN;
            pthread_cond_signal(&lane->changed);
        }
        pthread_mutex_unlock(&lane->lock);
        return is_free;
    }

    /* Whether it had ended; then it is free again. */
    static int end_lane(Lane *lane, int *error, int64_t *took_ns) {
        pthread_mutex_lock(&lane->lock);
        int has_ended = lane->state == ENDED;
        if (has_ended) {
            *error = lane->error;
            *took_ns = lane->took_ns;
            free(lane->files);
            lane->files = NULL;
            lane->state = FREE;
        }
        pthread_mutex_unlock(&lane->lock);
        return has_ended;
    }

    static void stop_lane(Lane *lane) {
        if (!lane->is_running)
            return;
        pthread_mutex_lock(&lane->lock);
        lane->is_closing = 1;
        pthread_cond_signal(&lane->changed);
        pthread_mutex_unlock(&lane->lock);
        pthread_join(lane->thread, NULL);
        lane->is_running = 0;
        free(lane->files);
        lane->files = NULL;
        pthread_mutex_destroy(&lane->lock);
        pthread_cond_destroy(&lane->changed);
    }
    """
    ctypedef struct Lane:
        pass
    int start_lane(Lane *lane, int pipe) nogil
    int begin_lane(Lane *lane, int *files, int count) nogil
    int end_lane(Lane *lane, int *error, int64_t *took_ns) nogil
    void stop_lane(Lane *lane) nogil


cdef class Lanes:
    """So many threads; one sync at a time in each. Raises OSError where they cannot be had."""

    cdef Lane *_lanes
    cdef int _count
    cdef int _told
    cdef int _telling

    def __cinit__(self, int count):
        cdef int number, error
        self._told = self._telling = -1
        self._lanes = <Lane *> calloc(max(count, 1), sizeof(Lane))
        if self._lanes == NULL:
            raise MemoryError
        self._count = count
        self._told, self._telling = os.pipe()
        os.set_blocking(self._told, False)
        for number in range(count):
            error = start_lane(&self._lanes[number], self._telling)
            if error:
                self.close()
                raise OSError(error, os.strerror(error))

    def __dealloc__(self):
        self.close()
        free(self._lanes)

    def fileno(self):
        """Readable when a sync has ended."""
        return self._told

    def begin(self, int lane, list descriptors):
        """Sync these files, one after the other, up to the first that fails. Raises RuntimeError where the lane is not
        free."""
        cdef int count = len(descriptors), number
        cdef int *files
        if not 0 <= lane < self._count:
            raise IndexError(lane)
        files = <int *> malloc(max(count, 1) * sizeof(int))
        if files == NULL:
            raise MemoryError
        try:
            for number in range(count):
                files[number] = descriptors[number]
            if not begin_lane(&self._lanes[lane], files, count):
                raise RuntimeError(f"lane {lane} is syncing")
        except BaseException:
            free(files)
            raise

    def ended(self):
        """(lane, error number or 0, microseconds) of each sync that has ended since this was last asked."""
        cdef int number, error = 0
        cdef int64_t took_ns = 0
        cdef list found = []
        try:
            os.read(self._told, 64)
        except BlockingIOError:
            pass
        for number in range(self._count):
            if end_lane(&self._lanes[number], &error, &took_ns):
                found.append((number, error, took_ns // 1000))
        return found

    def close(self):
        """Wait for what is under way, and end the threads."""
        cdef int number
        with nogil:
            for number in range(self._count):
                stop_lane(&self._lanes[number])
        self._count = 0
        if self._told >= 0:
            os.close(self._told)
            os.close(self._telling)
            self._told = self._telling = -1

; Fork-join over a range of units: `parallel_for` is slot 0 of the run-time table.
;
; Every thread has its own contiguous share, so that data stays in its core's cache from one loop to
; the next, cut into four parts.  A part is claimed by its byte in @claims; whoever is done with its
; own share takes parts of the others, so that a thread that comes late costs little.  A worker may
; take part only if it got a part of its own, and reports all that it ran at its end: until then
; @pending is not zero, so the fields of the task stand still while anybody reads them.
; A second caller (another Python thread, or a task that calls back) finds @busy set and runs all
; its units itself.

@generation = internal global i32 0, align 64
@sleepers = internal global i32 0
@pending = internal global i32 0, align 64
@waiting = internal global i32 0
@busy = internal global i32 0, align 64
@started = internal global i64 0
@task = internal global ptr null
@task_context = internal global ptr null
@task_units = internal global i64 0
@task_threads = internal global i64 0
@claims = internal global [2048 x i8] zeroinitializer, align 64
@handles = internal global [512 x i64] zeroinitializer
@stopping = internal global i32 0
@stopped = internal global i32 0
@thread_count = global i64 1, align 64

; Run %part on thread %id if no thread has claimed it; returns 1 if so.
define internal i32 @run_part(i64 %part, i64 %id) nounwind {
  %claim = getelementptr i8, ptr @claims, i64 %part
  %open = atomicrmw xchg ptr %claim, i8 0 acq_rel
  %mine = icmp ne i8 %open, 0
  br i1 %mine, label %run, label %done
run:
  %task = load ptr, ptr @task
  %context = load ptr, ptr @task_context
  %begin = call i64 @part_begin(i64 %part)
  %following = add i64 %part, 1
  %end = call i64 @part_begin(i64 %following)
  call void %task(ptr %context, i64 %begin, i64 %end, i64 %id)
  br label %done
done:
  %ran = zext i1 %mine to i32
  ret i32 %ran
}

define internal i64 @part_begin(i64 %part) nounwind {
  %units = load i64, ptr @task_units
  %threads = load i64, ptr @task_threads
  %parts = shl i64 %threads, 2
  %product = mul i64 %units, %part
  %begin = udiv i64 %product, %parts
  ret i64 %begin
}

; Run the open parts of thread %id, then those of the others, nearest first and from their ends;
; returns how many.
define internal i32 @run_share(i64 %id) nounwind {
entry:
  %base = shl i64 %id, 2
  br label %own
own:
  %i = phi i64 [0, %entry], [%i1, %own]
  %sum = phi i32 [0, %entry], [%sum1, %own]
  %part = add i64 %base, %i
  %ran = call i32 @run_part(i64 %part, i64 %id)
  %sum1 = add i32 %sum, %ran
  %i1 = add i64 %i, 1
  %own.more = icmp ult i64 %i1, 4
  br i1 %own.more, label %own, label %admitted
admitted:
  %worker = icmp ne i64 %id, 0
  %idle = icmp eq i32 %sum1, 0
  %late = and i1 %worker, %idle
  br i1 %late, label %leave, label %help
help:
  %threads = load i64, ptr @task_threads
  %all = shl i64 %threads, 2
  br label %other
other:
  ; Parts base + 7, 6, 5, 4, then base + 11 and so on, modulo all.
  %j = phi i64 [4, %help], [%j1, %next]
  %total = phi i32 [%sum1, %help], [%total1, %next]
  %more = icmp ult i64 %j, %all
  br i1 %more, label %look, label %done
look:
  %turned = xor i64 %j, 3
  %far = add i64 %base, %turned
  %over = icmp uge i64 %far, %all
  %back = sub i64 %far, %all
  %victim = select i1 %over, i64 %back, i64 %far
  %claim = getelementptr i8, ptr @claims, i64 %victim
  %state = load atomic i8, ptr %claim monotonic, align 1
  %open = icmp ne i8 %state, 0
  br i1 %open, label %take, label %next
take:
  %took = call i32 @run_part(i64 %victim, i64 %id)
  br label %next
next:
  %more.ran = phi i32 [0, %look], [%took, %take]
  %total1 = add i32 %total, %more.ran
  %j1 = add i64 %j, 1
  br label %other
done:
  ret i32 %total
leave:
  ret i32 0
}

; A worker: spin a little, then give the core away, then sleep until the generation changes.
define internal ptr @worker(ptr %argument) nounwind {
entry:
  %packed = ptrtoint ptr %argument to i64
  %id = and i64 %packed, 1023
  %shifted = lshr i64 %packed, 32
  %first = trunc i64 %shifted to i32
  %bit = trunc i64 %id to i32
  %bit31 = and i32 %bit, 31
  %mask = shl i32 1, %bit31
  call void @enlist(i64 %id, i1 true)
  br label %idle
idle:
  %last = phi i32 [%first, %entry], [%now, %join.in], [%now, %finish]
  br label %look
look:
  %turn = phi i32 [0, %idle], [%next, %spin], [%next, %give], [%turn, %sleep]
  %now = load atomic i32, ptr @generation seq_cst, align 4
  %same = icmp eq i32 %now, %last
  br i1 %same, label %tired, label %work
tired:
  %next = add i32 %turn, 1
  %fresh = icmp ult i32 %turn, {spins}
  br i1 %fresh, label %spin, label %tired2
spin:
  call void @relax()
  br label %look
tired2:
  %awake = icmp ult i32 %turn, {yields}
  br i1 %awake, label %give, label %sleep
give:
  call void @give_core()
  br label %look
sleep:
  atomicrmw add ptr @sleepers, i32 1 seq_cst
  call void @wait(ptr @generation, i32 %last, i32 %mask)
  atomicrmw sub ptr @sleepers, i32 1 seq_cst
  br label %look
work:
  %stop = load atomic i32, ptr @stopping seq_cst, align 4
  %over = icmp ne i32 %stop, 0
  br i1 %over, label %leave, label %join.in
leave:
  call void @enlist(i64 %id, i1 false)
  ret ptr null
join.in:
  call void @note_processor(i64 %id)
  %ran = call i32 @run_share(i64 %id)
  %any = icmp ne i32 %ran, 0
  br i1 %any, label %finish, label %idle
finish:
  call void @report(i32 %ran)
  br label %idle
}

; Parts are done; wake the caller if they were the last ones and it sleeps.
define internal void @report(i32 %count) nounwind {
  %before = atomicrmw sub ptr @pending, i32 %count seq_cst
  %waiting = load atomic i32, ptr @waiting seq_cst, align 4
  %last = icmp eq i32 %before, %count
  %slept = icmp ne i32 %waiting, 0
  %both = and i1 %last, %slept
  br i1 %both, label %tell, label %done
tell:
  call void @wake(ptr @pending, i32 -1)
  br label %done
done:
  ret void
}

; Wait for the workers that take part.
define internal void @join() nounwind {
entry:
  br label %look
look:
  %turn = phi i32 [0, %entry], [%next, %spin], [%next, %give], [%turn, %block]
  %left = load atomic i32, ptr @pending seq_cst, align 4
  %over = icmp eq i32 %left, 0
  br i1 %over, label %done, label %tired
tired:
  %next = add i32 %turn, 1
  %fresh = icmp ult i32 %turn, {spins}
  br i1 %fresh, label %spin, label %tired2
spin:
  call void @relax()
  br label %look
tired2:
  %awake = icmp ult i32 %turn, {joining}
  br i1 %awake, label %give, label %sleep
give:
  call void @give_core()
  br label %look
sleep:
  store atomic i32 1, ptr @waiting seq_cst, align 4
  %again = load atomic i32, ptr @pending seq_cst, align 4
  %ended = icmp eq i32 %again, 0
  br i1 %ended, label %done, label %block
block:
  call void @wait(ptr @pending, i32 %again, i32 -1)
  br label %look
done:
  store atomic i32 0, ptr @waiting seq_cst, align 4
  ret void
}

; Start workers until %n threads (the caller included) can take part; returns how many can.
define internal i64 @grow(i64 %n) nounwind {
entry:
  br label %test
test:
  %have = load i64, ptr @started
  %able = add i64 %have, 1
  %enough = icmp uge i64 %able, %n
  br i1 %enough, label %full, label %more
full:
  ret i64 %n
more:
  %now = load atomic i32, ptr @generation seq_cst, align 4
  %wide = zext i32 %now to i64
  %high = shl i64 %wide, 32
  %packed = or i64 %high, %able
  %argument = inttoptr i64 %packed to ptr
  %handle = getelementptr i64, ptr @handles, i64 %able
  %failed = call i32 @spawn(ptr %handle, ptr @worker, ptr %argument)
  %bad = icmp ne i32 %failed, 0
  br i1 %bad, label %short, label %good
good:
  store i64 %able, ptr @started
  br label %test
short:
  ret i64 %able
}

define void @parallel_for(ptr %rt, ptr %task, ptr %context, i64 %units) nounwind {
entry:
  %none = icmp sle i64 %units, 0
  br i1 %none, label %leave, label %some
some:
  %allowed = load i64, ptr @thread_count
  %wanted = call i64 @llvm.umin.i64(i64 %allowed, i64 %units)
  %alone = icmp ule i64 %wanted, 1
  br i1 %alone, label %serial, label %try
try:
  %pair = cmpxchg ptr @busy, i32 0, i32 1 acquire monotonic
  %mine = extractvalue {i32, i1} %pair, 1
  br i1 %mine, label %own, label %serial
own:
  %n = call i64 @grow(i64 %wanted)
  %single = icmp ule i64 %n, 1
  br i1 %single, label %release, label %publish
publish:
  call void @task_begins()
  store ptr %task, ptr @task
  store ptr %context, ptr @task_context
  store i64 %units, ptr @task_units
  store i64 %n, ptr @task_threads
  %n32 = trunc i64 %n to i32
  %all = shl i64 %n, 2
  %used = call i64 @llvm.umin.i64(i64 %all, i64 %units)
  %used32 = trunc i64 %used to i32
  store atomic i32 %used32, ptr @pending monotonic, align 4
  br label %test
test:
  ; With fewer units than parts, as many parts as units are not empty.
  %part = phi i64 [0, %publish], [%part1, %next]
  %begin = phi i64 [0, %publish], [%end, %next]
  %part1 = add i64 %part, 1
  %end = call i64 @part_begin(i64 %part1)
  %empty = icmp eq i64 %begin, %end
  br i1 %empty, label %next, label %open
open:
  %claim = getelementptr i8, ptr @claims, i64 %part
  store atomic i8 1, ptr %claim release, align 1
  br label %next
next:
  %parts.left = icmp ult i64 %part1, %all
  br i1 %parts.left, label %test, label %announce
announce:
  atomicrmw add ptr @generation, i32 1 seq_cst
  %asleep = load atomic i32, ptr @sleepers seq_cst, align 4
  %any = icmp ne i32 %asleep, 0
  call void @keep_off(i64 %n, i1 %any)
  br i1 %any, label %rouse, label %share
rouse:
  %few = icmp ult i32 %n32, 32
  %safe = and i32 %n32, 31
  %bits = shl i32 1, %safe
  %ones = sub i32 %bits, 1
  %mask = select i1 %few, i32 %ones, i32 -1
  call void @wake(ptr @generation, i32 %mask)
  br label %share
share:
  %ran = call i32 @run_share(i64 0)
  atomicrmw sub ptr @pending, i32 %ran seq_cst
  call void @join()
  store atomic i32 0, ptr @busy release, align 4
  br label %leave
release:
  store atomic i32 0, ptr @busy release, align 4
  br label %serial
serial:
  call void %task(ptr %context, i64 0, i64 %units, i64 0)
  br label %leave
leave:
  ret void
}

; Before a fork: end the workers, so that the process forks with one thread, and keep others from
; starting any.  If the pool stays busy for long, the fork goes ahead without that.
define void @threads_stop() nounwind {
entry:
  br label %try
try:
  %i = phi i32 [0, %entry], [%i1, %again]
  %pair = cmpxchg ptr @busy, i32 0, i32 1 acquire monotonic
  %mine = extractvalue {i32, i1} %pair, 1
  br i1 %mine, label %own, label %again
again:
  call void @give_core()
  %i1 = add i32 %i, 1
  %more = icmp ult i32 %i1, 2000
  br i1 %more, label %try, label %leave
own:
  store i32 1, ptr @stopped
  store atomic i32 1, ptr @stopping seq_cst, align 4
  atomicrmw add ptr @generation, i32 1 seq_cst
  call void @wake(ptr @generation, i32 -1)
  %count = load i64, ptr @started
  br label %test
test:
  %j = phi i64 [1, %own], [%j1, %wait]
  %left = icmp ule i64 %j, %count
  br i1 %left, label %wait, label %done
wait:
  %handle = getelementptr i64, ptr @handles, i64 %j
  call void @await(ptr %handle)
  %j1 = add i64 %j, 1
  br label %test
done:
  store i64 0, ptr @started
  store atomic i32 0, ptr @stopping seq_cst, align 4
  br label %leave
leave:
  ret void
}

; In the parent after the fork.
define void @threads_resume() nounwind {
  %stopped = load i32, ptr @stopped
  %mine = icmp ne i32 %stopped, 0
  br i1 %mine, label %release, label %done
release:
  store i32 0, ptr @stopped
  store atomic i32 0, ptr @busy release, align 4
  br label %done
done:
  ret void
}

; In the child of a fork: there are no workers, and no thread waits.
define void @threads_reset() nounwind {
  store i64 0, ptr @started
  store i32 0, ptr @sleepers
  store i32 0, ptr @pending
  store i32 0, ptr @waiting
  store i32 0, ptr @stopping
  store i32 0, ptr @stopped
  store i32 0, ptr @busy
  call void @llvm.memset.p0.i64(ptr @claims, i8 0, i64 2048, i1 false)
  ret void
}

;;; stock.el --- an editor without a plugin starts and steers a session  -*- lexical-binding: t -*-
;; Run in batch with the program and the folder as arguments. Everything goes the way that it goes
;; when a developer chooses from the menu of code actions; only the choice is made here.

(require 'eglot)
(require 'cl-lib)

(defvar stock-program (pop command-line-args-left))
(defvar stock-folder (pop command-line-args-left))

(setq eglot-confirm-server-initiated-edits nil
      eglot-autoshutdown nil
      make-backup-files nil
      last-nonmenu-event ?x                     ; the menu is asked for with the keyboard
      project-find-functions (list (lambda (_) (cons 'transient stock-folder))))

(defun stock-say (form &rest args) (princ (concat (apply #'format form args) "\n")))

(defun stock-until (what holds)
  "Wait until HOLDS, or end: WHAT never came."
  (let ((end (+ (float-time) 30)))
    (while (not (funcall holds))
      (when (> (float-time) end)
        (stock-say "never: %s" what)
        (with-current-buffer (messages-buffer) (stock-say "%s" (buffer-string)))
        (kill-emacs 1))
      (accept-process-output nil 0.05)
      ;; Eglot tells its changes when Emacs is idle, which it never is in batch.
      (eglot--signal-textDocument/didChange)))
  (stock-say "came: %s" what))

(defun stock-choose (says)
  "Choose from the code actions at point the one that SAYS so."
  (cl-letf (((symbol-function 'completing-read)
             (lambda (_prompt items &rest _)
               (let ((titles (mapcar #'car items)))
                 (stock-say "offered: %s" (string-join titles " | "))
                 (or (cl-find-if (lambda (title) (string-search says title)) titles)
                     (progn (stock-say "not offered: %s" says) (kill-emacs 1)))))))
    (eglot-code-actions (point) nil nil t)))

(defun stock-told (text)
  (with-current-buffer (messages-buffer) (string-search text (buffer-string))))

(find-file (expand-file-name "greet.py" stock-folder))
(fundamental-mode)
(setq eglot-server-programs `((fundamental-mode . (,stock-program "lsp" "--isolated"))))
(apply #'eglot (eglot--guess-contact))
(defvar stock-server (eglot-current-server))

;; What steers is never saved.
(search-forward "def greet():\n")
(insert "    # tandem: greet the moon instead\n")

(goto-char (point-min))
(stock-choose "Start: greet the world")
(stock-until "the step, above its file"
             (lambda ()
               (let ((lenses (jsonrpc-request stock-server :textDocument/codeLens
                                              (list :textDocument (eglot--TextDocumentIdentifier)))))
                 (string-search "step 1 «Greet»" (format "%s" lenses)))))

(search-forward "greet the moon")
(stock-choose "Steer: greet the moon instead")
(stock-until "the edit, in the buffer"
             (lambda () (string-search "hello moon" (buffer-string))))
(stock-until "whose turn it is" (lambda () (stock-told "Tandem: greet the world is done.")))

(goto-char (point-min))
(search-forward "hello moon")
(let ((hover (jsonrpc-request stock-server :textDocument/hover (eglot--TextDocumentPositionParams))))
  (stock-say "hover: %s" (plist-get (plist-get hover :contents) :value)))
(stock-say "text: %s" (buffer-string))
(set-buffer-modified-p nil)
(eglot-shutdown stock-server)

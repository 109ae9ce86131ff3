echo 'BASH_ENV was run'
